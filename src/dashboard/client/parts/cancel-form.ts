/** The button that cancels the run of a view. */
import { post } from "./post.ts";

interface Options {
  onSent: () => void;
  /** @param message that can be shown */
  onFailed: (message: string) => void;
}

export class CancelForm {
  readonly #root: HTMLElement;
  readonly #options: Options;
  #isSent = false;

  constructor(root: HTMLElement, options: Options) {
    this.#root = root;
    this.#options = options;
    root.addEventListener("submit", this.#submit);
  }

  /** Whether a cancel was requested; a response that the server sent before does not show it. */
  get isSent(): boolean {
    return this.#isSent;
  }

  close(): void {
    this.#root.removeEventListener("submit", this.#submit);
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    if (!(event.target instanceof HTMLFormElement)) return;
    const button = event.target.querySelector<HTMLButtonElement>("[data-cancel]");
    if (!button) return;
    event.preventDefault();
    button.disabled = true;
    button.textContent = "Canceling…";
    this.#isSent = true;
    try {
      await post(event.target.action);
      this.#options.onSent();
    } catch (error) {
      this.#isSent = false;
      button.disabled = false;
      button.textContent = "Cancel";
      this.#options.onFailed(error instanceof Error ? error.message : String(error));
    }
  };
}
