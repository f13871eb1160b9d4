/** Shows the texts of an output as Markdown, and back. Client code reveals it. */
export const MarkdownButton = () => (
  <button type="button" class="quiet markdown-button" aria-pressed="false" data-markdown hidden>
    Markdown
  </button>
);
