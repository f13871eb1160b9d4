/** The style of what the reference alone shows. */
export const referenceStyle = `
.contents { margin-top: 1rem; }
.contents > ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; }
.contents > ul > li > a { font-weight: 600; color: var(--text); }
.contents li ul { display: none; }

.introduction h2 { font-size: 1.125rem; margin: 1.75rem 0 0.25rem; }
.base { color: var(--quiet); }

article { border-top: 1px solid var(--line); padding: 1.75rem 0; margin-top: 1.75rem; }
article:target { border-top-color: var(--accent); }
article.schema { padding: 1.25rem 0 0; margin-top: 1.25rem; }

.endpoint > code, .overview code, .fields .name { background: none; padding: 0; }
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
  .contents { border-top: 1px solid var(--line); padding-top: 1rem; }
  .contents > ul { display: block; }
  .contents > ul > li { margin-bottom: 0.75rem; }
  .contents li ul { display: block; }
  .contents li li a { display: flex; justify-content: space-between; align-items: baseline; gap: 0.5rem; padding: 0.15rem 0; color: var(--text); }
}
`;
