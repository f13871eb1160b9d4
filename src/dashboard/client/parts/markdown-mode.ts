/** The texts of an output as they are, or as Markdown. */
import { MarkdownView } from "./chat/markdown-view.ts";
import { keepChoice, keptChoice } from "./choices.ts";

const KEY = "markdown";

export class MarkdownMode {
  readonly #root: HTMLElement;
  readonly #views = new Map<HTMLElement, MarkdownView>();
  #isOn = keptChoice(KEY) === "on";

  constructor(root: HTMLElement) {
    this.#root = root;
    const button = root.querySelector<HTMLButtonElement>("[data-markdown]");
    if (!button) return;
    button.hidden = false;
    button.ariaPressed = String(this.#isOn);
    button.addEventListener("click", () => {
      this.#isOn = !this.#isOn;
      button.ariaPressed = String(this.#isOn);
      keepChoice(KEY, this.#isOn ? "on" : "off");
      this.#turn();
    });
    this.update();
  }

  /** Called when text has come. */
  update(): void {
    if (!this.#isOn) return;
    for (const text of this.#root.querySelectorAll<HTMLElement>("[data-output] .text")) {
      const view = this.#views.get(text) ?? new MarkdownView("output-item prose");
      this.#views.set(text, view);
      view.update(text.textContent);
      if (view.root.parentElement !== text.parentElement) text.before(view.root);
      text.hidden = true;
    }
  }

  #turn(): void {
    for (const [text, view] of this.#views) {
      text.hidden = this.#isOn;
      view.root.hidden = !this.#isOn;
    }
    this.update();
  }
}
