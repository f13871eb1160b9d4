/** Runs as steps of the browser's history: each has the address that leads back to it. */
import { runAddress } from "../../playground/control-names.ts";

export const runInAddress = (): string | null =>
  new URLSearchParams(location.search).get("prediction");

export class RunSteps {
  readonly #address: (id: string) => string;
  #shown = runInAddress();

  /** @param root of the playground */
  constructor(root: HTMLElement) {
    const { playground = "", asForm } = root.dataset;
    this.#address = (id) => runAddress(playground, id, asForm !== undefined);
    // The server shows a run with its input. Back to an anchor of the page is no other run.
    addEventListener("popstate", () => {
      if (runInAddress() !== this.#shown) location.reload();
    });
  }

  begin(id: string): void {
    history.pushState(null, "", this.#address(id));
    this.#shown = id;
  }
}

export function leaveExample(root: ParentNode): void {
  root.querySelector("[data-example-output]")?.remove();
  root.querySelector("[data-examples] [aria-current]")?.removeAttribute("aria-current");
}
