// Colours of series: the same thing has the same colour everywhere on the page.

const SERIES = Array.from({ length: 12 }, (_, index) => `--c${index}`);

/** The colour of the n-th series, as the present theme has it. */
export const colour = (index) => css(SERIES[index % SERIES.length]);

/** The value of one of the page's colours. */
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The reference to a colour, for elements that follow the theme by themselves. */
export const reference = (index) => `var(${SERIES[index % SERIES.length]})`;
