/** The texts of an output as they are, or as Markdown. */
import { MarkdownView } from "./chat/markdown-view.ts";
import { restoreChoices } from "./choices.ts";

export class MarkdownMode {
  readonly #root: HTMLElement;
  readonly #radio: HTMLInputElement | null;
  readonly #views = new Map<HTMLElement, MarkdownView>();

  constructor(root: HTMLElement) {
    this.#root = root;
    const choice = root.querySelector<HTMLElement>('[data-choice="markdown"]');
    this.#radio = choice?.querySelector('[value="markdown"]') ?? null;
    if (!choice) return;
    choice.hidden = false;
    restoreChoices(root);
    choice.addEventListener("change", () => this.#turn());
    this.update();
  }

  /** To be called when text has come. */
  update(): void {
    if (!this.#radio?.checked) return;
    for (const text of this.#root.querySelectorAll<HTMLElement>("[data-output] .text")) {
      const view = this.#views.get(text) ?? new MarkdownView("output-item prose");
      this.#views.set(text, view);
      view.update(text.textContent);
      if (view.root.parentElement !== text.parentElement) text.before(view.root);
      text.hidden = true;
    }
  }

  #turn(): void {
    const isOn = this.#radio?.checked ?? false;
    for (const [text, view] of this.#views) {
      text.hidden = isOn;
      view.root.hidden = !isOn;
    }
    this.update();
  }
}
