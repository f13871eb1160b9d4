/** The texts of an output as they are or as Markdown: what is chosen is remembered, for all pages. */
import { MarkdownView } from "./chat/markdown-view.ts";

const KEY = "auspex.markdown.1";

export class MarkdownMode {
  readonly #root: HTMLElement;
  readonly #views = new Map<HTMLElement, MarkdownView>();
  #isOn = remembered();

  constructor(root: HTMLElement) {
    this.#root = root;
    const choice = root.querySelector<HTMLElement>("[data-markdown-mode]");
    if (!choice) return;
    choice.hidden = false;
    for (const radio of choice.querySelectorAll<HTMLInputElement>("input")) {
      radio.checked = (radio.value === "markdown") === this.#isOn;
      radio.addEventListener("change", () => this.#turn(radio.value === "markdown"));
    }
    this.update();
  }

  /** To be called when text has come. */
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

  #turn(on: boolean): void {
    this.#isOn = on;
    remember(on);
    for (const [text, view] of this.#views) {
      text.hidden = on;
      view.root.hidden = !on;
    }
    this.update();
  }
}

function remembered(): boolean {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
}

function remember(on: boolean): void {
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // Not allowed: then it is so for this page alone.
  }
}
