"""The report's frame: HTML and CSS."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Parcade</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

STYLE = """
:root { --page: #f6f7f9; --card: #fff; --edge: #e3e6eb; --ink: #1a1f29; --soft: #626b7a; --grid: #eceef2;
  --line: #2f6fde; --mark: #d9622b; --area0: #2f6fde; --area1: #3aa99f; --area2: #e0a03b; }
@media (prefers-color-scheme: dark) { :root { --page: #11141a; --card: #191d25; --edge: #2a303b; --ink: #e8ebf0;
  --soft: #98a2b3; --grid: #262c36; --line: #6ea3ff; --mark: #ff9a62; --area0: #4d86e8; --area1: #3f9f96;
  --area2: #c98f35; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1168px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 32px; line-height: 1.2; letter-spacing: -.02em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; letter-spacing: -.01em; margin: 0 0 4px; }
header p { margin: 6px 0 0; color: var(--soft); }
header .brand { margin: 0 0 6px; font-size: 13px; font-weight: 600; color: var(--line); }
section { margin-top: 44px; }
.lead { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0 0 14px; color: var(--soft); font-size: 13.5px; }
.lead:empty { margin-bottom: 10px; }
a { color: var(--line); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 1px; margin: 24px 0 0;
  background: var(--edge);
  border: 1px solid var(--edge); border-radius: 10px; overflow: hidden; }
.tiles div { background: var(--card); padding: 14px 18px 12px; }
.tiles dt { color: var(--soft); font-size: 13px; }
.tiles dd { margin: 2px 0 0; font-size: 26px; font-weight: 650; letter-spacing: -.02em; line-height: 1.25;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.tiles small { display: block; font-size: 12px; font-weight: 400; letter-spacing: 0; color: var(--soft);
  white-space: normal; }
.wide, .halves, .thirds { display: grid; gap: 16px; }
.wide + div { margin-top: 16px; }
.halves { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.thirds { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.card { margin: 0; padding: 14px 16px 10px; background: var(--card); border: 1px solid var(--edge);
  border-radius: 10px; break-inside: avoid; display: flex; flex-direction: column; justify-content: space-between; }
.card figcaption { display: grid; grid-template-columns: 1fr auto; column-gap: 12px; margin-bottom: 8px; }
.card b { font-weight: 600; overflow-wrap: anywhere; }
.card .value { font-weight: 600; font-variant-numeric: tabular-nums; color: var(--line); }
.card small { grid-column: 1 / -1; color: var(--soft); font-size: 12.5px; line-height: 1.4; }
.wide .card { overflow-x: auto; }
.wide svg:only-of-type { min-width: 640px; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
.narrow { display: none; }
svg text { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--grid); fill: none; }
.raw, .line { fill: none; stroke: var(--line); stroke-linejoin: round; stroke-linecap: round; }
.raw { stroke-width: 1; opacity: .35; }
.line { stroke-width: 2.25; }
.dot { fill: var(--line); }
.column { fill: var(--line); opacity: 0; }
.column:hover { opacity: .1; }
.mark circle { fill: var(--card); stroke: var(--mark); stroke-width: 2; }
.mark:hover circle { fill: var(--mark); }
.whisker { stroke: var(--mark); opacity: .55; }
path.area0 { fill: var(--area0); } path.area1 { fill: var(--area1); } path.area2 { fill: var(--area2); }
.key { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
.card .key { margin-right: 16px; }
.key i { width: 16px; height: 10px; border-radius: 2px; }
i.area0 { background: var(--area0); } i.area1 { background: var(--area1); } i.area2 { background: var(--area2); }
i.thin { height: 1px; background: var(--line); opacity: .6; }
i.thick { height: 3px; background: var(--line); }
i.ring { width: 10px; border: 2px solid var(--mark); border-radius: 50%; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: 16px; }
.pictures figure { margin: 0; break-inside: avoid; }
.pictures img { display: block; width: 100%; image-rendering: pixelated; border: 1px solid var(--edge);
  border-radius: 8px; }
.pictures figcaption { margin-top: 6px; font-size: 13px; color: var(--soft); overflow-wrap: anywhere; }
video { display: block; width: 100%; max-width: 640px; margin-bottom: 8px; background: #000; border-radius: 10px;
  image-rendering: pixelated; }
.commands p { margin: 12px 0 6px; font-size: 14px; }
pre { margin: 0; padding: 11px 16px; background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
  overflow-x: auto; user-select: all; }
code, td { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
details { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; }
summary { padding: 12px 16px; cursor: pointer; font-weight: 600; }
table { width: 100%; border-collapse: collapse; }
tr { border-top: 1px solid var(--grid); break-inside: avoid; }
th, td { padding: 6px 16px; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { width: 36%; font-size: 13.5px; font-weight: 400; color: var(--soft); }
@media (max-width: 900px) { .tiles { grid-template-columns: repeat(3, 1fr); }
  .thirds { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (max-width: 620px) { main { padding: 24px 16px; } .halves, .thirds { grid-template-columns: minmax(0, 1fr); }
  .tiles { grid-template-columns: repeat(2, 1fr); } .tiles div { padding: 12px 14px; }
  .halves svg text, .halves svg text.name { font-size: 15.5px; } th, td { padding: 6px 10px; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .narrow { display: block; } .wide svg:not(.narrow):not(:only-of-type) { display: none; } }
@media print { :root { --page: #fff; --card: #fff; --edge: #d5d9e0; --ink: #000; --soft: #555; --grid: #e6e8ec;
  --line: #2f6fde; --mark: #d9622b; --area0: #2f6fde; --area1: #3aa99f; --area2: #e0a03b; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } main { padding: 0; max-width: none; }
  .wide svg text { font-size: 14px; } .halves svg text { font-size: 13.5px; }
  h2, .lead { break-after: avoid; } section { margin-top: 24px; } video { display: none; } }
"""
