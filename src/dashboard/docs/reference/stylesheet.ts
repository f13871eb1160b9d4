/** The style of the reference page. Contrast is 4.5 to 1 or more in both colour schemes. */
export const stylesheet = `
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

nav { padding: 1rem 1.25rem 0; font-size: 0.875rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav > ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; }
nav > ul > li > a { font-weight: 600; color: var(--text); }
nav li ul { display: none; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }

main { max-width: 52rem; padding: 0 1.25rem 4rem; min-width: 0; }

h1 { font-size: 1.875rem; line-height: 1.2; margin: 1.5rem 0 0.5rem; letter-spacing: -0.01em; }
h2 { font-size: 1.375rem; line-height: 1.3; margin: 3rem 0 0.5rem; }
h3 { font-size: 1.125rem; margin: 0 0 0.25rem; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { font-size: 0.875rem; margin: 1.25rem 0 0.375rem; color: var(--quiet); font-weight: 600; }
.introduction h2 { font-size: 1.125rem; margin: 1.75rem 0 0.25rem; }
p { margin: 0.5rem 0; }
.base { color: var(--quiet); }

article { border-top: 1px solid var(--line); padding: 1.75rem 0; margin-top: 1.75rem; }
article:target { border-top-color: var(--accent); }
article.schema { padding: 1.25rem 0 0; margin-top: 1.25rem; }

code, pre { font-family: var(--mono); font-size: 0.875em; }
:not(pre) > code { background: var(--raised); border-radius: 3px; padding: 0.1em 0.3em; }
.endpoint > code, .overview code, .fields .name { background: none; padding: 0; }
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

.method { flex: none; white-space: nowrap; font: 650 0.6875rem/1 var(--mono); letter-spacing: 0.03em; color: var(--change); }
.method.get { color: var(--get); }
.method.post { color: var(--post); }
.method.delete { color: var(--delete); }
.endpoint { margin: 0 0 0.75rem; }
.endpoint .method { font-size: 0.8125rem; margin-right: 0.25rem; }
.access { margin-left: 0.75rem; font-size: 0.8125rem; color: var(--quiet); }

.overview { list-style: none; margin: 1rem 0 0; padding: 0; font-size: 0.9375rem; }
.overview a { display: grid; grid-template-columns: 3.75rem 1fr; align-items: baseline; padding: 0.2rem 0; text-decoration: none; color: inherit; }
.overview a:hover code { text-decoration: underline; }

table { width: 100%; border-collapse: collapse; font-size: 0.875rem; margin: 0.375rem 0 0.75rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.75rem 0.4rem 0; border-bottom: 1px solid var(--line); font-weight: normal; }
thead th { color: var(--quiet); font-size: 0.8125rem; }
td:first-child { white-space: nowrap; }
small { display: block; color: var(--quiet); font-size: 0.8125rem; }

.fields { list-style: none; margin: 0.375rem 0; padding: 0; font-size: 0.875rem; border-top: 1px solid var(--line); }
.fields > li { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
.fields .name { font-weight: 600; font-size: 0.875rem; }
.fields p { margin: 0.1rem 0 0; color: var(--quiet); }
.fields .fields { margin-left: 1rem; }
.type { color: var(--quiet); font-size: 0.8125rem; }
.optional { color: var(--quiet); font-size: 0.8125rem; font-style: italic; }
.media { margin: 0.5rem 0 0.25rem; font-size: 0.875rem; color: var(--quiet); }

details { margin: 0.25rem 0; font-size: 0.9375rem; }
summary { cursor: pointer; padding: 0.15rem 0; }
details details > summary, .fields summary { font-size: 0.8125rem; color: var(--quiet); }
details.answer { border-bottom: 1px solid var(--line); padding-bottom: 0.25rem; }
.answer { font-size: 0.9375rem; }
.status { font: 600 0.8125rem/1 var(--mono); }
.errors { list-style: none; margin: 0.5rem 0 0; padding: 0; font-size: 0.875rem; color: var(--quiet); }
.errors li { padding: 0.1rem 0; }
.errors .status { display: inline-block; width: 2.5rem; text-decoration: none; }

@media (min-width: 40rem) {
  .parameters tbody th { width: 26%; }
  .parameters td:nth-child(2) { width: 28%; }
}

@media (max-width: 40rem) {
  .parameters thead { position: absolute; left: -100vw; }
  .parameters tr { display: block; padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
  .parameters :is(td, th) { display: block; width: auto; padding: 0; border: 0; }
  .parameters small { display: inline; margin-left: 0.375rem; }
}

@media (min-width: 62rem) {
  .columns { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding-bottom: 2rem; border-right: 1px solid var(--line); }
  nav > ul { display: block; }
  nav > ul > li { margin-bottom: 0.75rem; }
  nav li ul { display: block; }
  nav li li a { display: flex; justify-content: space-between; align-items: baseline; gap: 0.5rem; padding: 0.15rem 0; color: var(--text); }
  main { padding: 0 3rem 6rem; }
}

@media print {
  nav, .skip { display: none; }
}
`.trim();
