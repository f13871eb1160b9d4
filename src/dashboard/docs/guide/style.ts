/** The style of what guides alone show. */
export const guideStyle = `
.guide { max-width: 46rem; }
.guide :is(h2, h3, h4) a { color: inherit; text-decoration: none; }
.guide :is(h2, h3, h4) a:hover { text-decoration: underline; }
.guide h2 { margin-top: 2.5rem; }
.guide h3 { margin: 1.75rem 0 0.25rem; }
.guide h4 { color: inherit; }
.guide h1 + p { font-size: 1.0625rem; color: var(--quiet); }
.guide li { margin: 0.25rem 0; }
.guide td:first-child { min-width: 8rem; white-space: normal; }
.guide blockquote { margin: 1rem 0; padding: 0.25rem 1rem; border-left: 3px solid var(--change); background: var(--raised); border-radius: 0 6px 6px 0; }
.guide blockquote strong { color: var(--change); }
.guide .table { overflow-x: auto; overflow-wrap: break-word; }
.picture { display: block; margin: 1rem 0; overflow-x: auto; }
.picture img { display: block; width: 100%; min-width: 36rem; height: auto; }

.copy { display: flex; align-items: start; margin: 0.5rem 0 0.75rem; background: var(--raised); border-radius: 6px; }
.copy pre { flex: 1; min-width: 0; margin: 0; white-space: pre; overflow-x: auto; overflow-wrap: normal; }
.copy button {
  flex: none;
  margin: 0.375rem 0.375rem 0.375rem 0;
  padding: 0.125rem 0.5rem;
  font: inherit;
  font-size: 0.75rem;
  color: var(--quiet);
  background: var(--ground);
  border: 1px solid var(--line);
  border-radius: 4px;
  cursor: pointer;
}
.copy button:hover { color: var(--text); }

.toc { margin: 1.25rem 0; font-size: 0.875rem; }
.toc li { margin: 0; padding: 0.15rem 0; }
.toc .level-3 { padding-left: 0.875rem; }
.toc code { background: none; padding: 0; }

.environment { margin: 1.5rem 0 0; padding: 0.5rem 1rem; border: 1px solid var(--line); border-radius: 6px; font-size: 0.9375rem; }
.neighbors { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0.5rem 1rem; margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
.neighbors [rel="next"] { margin-left: auto; }

@media (max-width: 40rem) {
  .copy { flex-direction: column-reverse; align-items: stretch; }
  .copy pre { padding-top: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
  .copy pre:has(+ [hidden]) { padding-top: 0.75rem; }
  .copy button { align-self: end; }
}

@media (min-width: 75rem) {
  main:has(.guide) { max-width: 72rem; }
  .guide { display: grid; grid-template-columns: minmax(0, 46rem) 13rem; grid-template-rows: auto 1fr; gap: 0 3rem; max-width: none; }
  .sections { grid-column: 1; }
  .toc { grid-column: 2; grid-row: 1 / span 2; position: sticky; top: 1.5rem; align-self: start; max-height: calc(100vh - 3rem); margin: 2rem 0 0; overflow-y: auto; }
  @supports selector(::details-content) {
    .toc .fold { padding: 0 0 0 1rem; border: 0; border-left: 1px solid var(--line); border-radius: 0; }
    .toc .fold::details-content { content-visibility: visible; }
    .toc .fold > summary { list-style: none; pointer-events: none; }
    .toc a { color: var(--quiet); }
  }
}

@media print {
  .toc, .environment, .neighbors, .copy button { display: none; }
}
`;
