/** The style of the documentation. Contrast is 4.5 to 1 or more in both color schemes. */
import { guideStyle } from "./guide/style.ts";
import { referenceStyle } from "./reference/style.ts";

const FRAME = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1d2129, #d9dce3);
  --quiet: light-dark(#586069, #9aa3b0);
  --ground: light-dark(#ffffff, #14171c);
  --raised: light-dark(#f5f6f8, #1c2027);
  --line: light-dark(#dfe2e7, #2f353f);
  --accent: light-dark(#0b57a8, #7db7f5);
  --get: light-dark(#0b6b3a, #6fd09a);
  --post: light-dark(#0b57a8, #7db7f5);
  --change: light-dark(#8a4b00, #e8b26a);
  --delete: light-dark(#a8232a, #f2938f);
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}

* { box-sizing: border-box; }

html { scroll-padding-top: 1rem; }

body {
  margin: 0;
  background: var(--ground);
  color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif;
  overflow-wrap: anywhere;
}

a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
main:focus { outline: none; }

.skip { position: absolute; left: -100vw; padding: 0.5rem 1rem; background: var(--ground); }
.skip:focus { left: 0.5rem; top: 0.5rem; z-index: 1; }

header {
  display: flex;
  flex-wrap: wrap;
  gap: 0 1.5rem;
  align-items: baseline;
  justify-content: space-between;
  padding: 0.75rem 1.25rem;
  border-bottom: 1px solid var(--line);
}
header p { margin: 0; color: var(--quiet); font-size: 0.875rem; }
header .title { font-size: 1.125rem; }
header .title a { color: var(--text); font-weight: 650; text-decoration: none; }
header .title a + a { margin-left: 0.5rem; color: var(--quiet); font-weight: normal; }

.sidebar { padding: 1rem 1.25rem 0; font-size: 0.875rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
.group { display: block; font-weight: 600; }
.pages > details > ul > li { margin-bottom: 0.75rem; }
.pages li li a { display: block; padding: 0.2rem 0; color: var(--text); }
.pages a[aria-current] { color: var(--accent); font-weight: 600; }

details { margin: 0.25rem 0; font-size: 0.9375rem; }
summary { cursor: pointer; padding: 0.15rem 0; }

/* A disclosure on narrow screens; on wide ones its contents are always there. */
.fold { margin: 0; padding: 0.5rem 0.75rem; font-size: inherit; border: 1px solid var(--line); border-radius: 6px; }
.fold > summary { font-weight: 600; }
.fold > ul { margin-top: 0.5rem; }

main { max-width: 52rem; padding: 0 1.25rem 4rem; min-width: 0; }

h1 { font-size: 1.875rem; line-height: 1.2; margin: 1.5rem 0 0.5rem; letter-spacing: -0.01em; }
h2 { font-size: 1.375rem; line-height: 1.3; margin: 3rem 0 0.5rem; }
h3 { font-size: 1.125rem; margin: 0 0 0.25rem; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { font-size: 0.875rem; margin: 1.25rem 0 0.375rem; color: var(--quiet); font-weight: 600; }
p { margin: 0.5rem 0; }

code, pre { font-family: var(--mono); font-size: 0.875em; }
:not(pre) > code { background: var(--raised); border-radius: 3px; padding: 0.1em 0.3em; }
pre {
  margin: 0.375rem 0;
  padding: 0.75rem 1rem;
  background: var(--raised);
  border-radius: 6px;
  font-size: 0.8125rem;
  line-height: 1.5;
  white-space: pre-wrap;
}
pre code { font-size: inherit; }

table { width: 100%; border-collapse: collapse; font-size: 0.875rem; margin: 0.375rem 0 0.75rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.75rem 0.4rem 0; border-bottom: 1px solid var(--line); font-weight: normal; }
thead th { color: var(--quiet); font-size: 0.8125rem; }

@media (min-width: 62rem) {
  .columns { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); }
  .sidebar { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding-bottom: 2rem; border-right: 1px solid var(--line); }
  main { padding: 0 3rem 6rem; }
  @supports selector(::details-content) {
    .pages .fold { padding: 0; border: 0; }
    .pages .fold::details-content { content-visibility: visible; }
    .pages .fold > summary { display: none; }
  }
}

@media print {
  header, .sidebar, .skip { display: none; }
}
`;

export const stylesheet = [FRAME, referenceStyle, guideStyle]
  .map((part) => part.trim())
  .join("\n\n");
