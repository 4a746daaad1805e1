// Plain questions to the server; an answer is data, or an error in words.

/** Ask for JSON: ask("metrics", {run, since}). */
export async function ask(what, parameters = {}) {
  const answer = await fetch(address(what, parameters), { headers: { accept: "application/json" } });
  let data = null;
  try {
    data = await answer.json();
  } catch {
    throw new Error(answer.ok ? "the server's answer cannot be read" : `the server answered ${answer.status}`);
  }
  if (!answer.ok) throw new Error(data.error ?? `the server answered ${answer.status}`);
  return data;
}

/** Whether a question failed because the server did not answer at all: it may come back. */
export const isAway = (error) => error instanceof TypeError;

/** The address of a question, relative to the page: a prefix of a proxy stays. */
export const address = (what, parameters = {}) => `api/${what}?${new URLSearchParams(parameters)}`;

/** Offer something for download. */
export function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
