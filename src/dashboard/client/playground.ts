/** The playground: checks what is typed, sends files, runs, and shows what comes of it on the same page. */

import type { Input } from "../../domain/schemas/input-form-values.ts";
import type { Compatibilities } from "../../protocol/model.ts";
import { codeSamples } from "../playground/calls.ts";
import { enhance } from "./parts/enhance.ts";
import { FilePickers } from "./parts/file-pickers.ts";
import { type FormState, PlaygroundForm, requiredElement } from "./parts/playground-form.ts";
import { post } from "./parts/post.ts";
import { attachPrediction } from "./parts/prediction-view.ts";
import { attachSliders } from "./parts/sliders.ts";

/** After the last key: so that nobody is interrupted in the middle of a number. */
const DEBOUNCE_MS = 150;

class Playground {
  readonly #root: HTMLElement;
  readonly #form: PlaygroundForm;
  readonly #files: FilePickers;
  readonly #view: HTMLElement;
  readonly #button: HTMLButtonElement;
  #detachView: () => void;
  #isBusy = false;
  #timer: number | undefined;

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#files = new FilePickers(root, this.#refresh);
    this.#form = new PlaygroundForm(root, (control) => this.#files.placeholderUrls(control));
    this.#view = requiredElement(root, '[data-panel="output"]', HTMLElement);
    this.#button = requiredElement(this.#form.element, 'button[type="submit"]', HTMLButtonElement);
    this.#detachView = attachPrediction(this.#view);
    attachSliders(root);
    this.#listen();
  }

  #listen(): void {
    const { element } = this.#form;
    element.addEventListener("input", this.#later);
    element.addEventListener("focusout", this.#later);
    const versions = requiredElement(this.#root, ".playground-version button", HTMLButtonElement);
    versions.hidden = true;
    requiredElement(this.#root, "#show", HTMLSelectElement).addEventListener("change", () =>
      element.requestSubmit(versions),
    );
    element.addEventListener("submit", (event) => {
      // Another version is another page.
      if (event.submitter === versions) return;
      event.preventDefault();
      void this.#alone(() => this.#run());
    });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      element.requestSubmit();
    });
    requiredElement(element, "[data-keys]", HTMLElement).hidden = false;
    for (const tab of this.#root.querySelectorAll<HTMLElement>("[data-tab]")) {
      tab.addEventListener("click", (event) => {
        event.preventDefault();
        this.#showTab(tab.dataset.tab ?? "");
      });
    }
    this.#root.querySelector("[data-switch-mode]")?.addEventListener("click", (event) => {
      event.preventDefault();
      void this.#alone(() => this.#turn());
    });
  }

  readonly #later = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#refresh, DEBOUNCE_MS);
  };

  readonly #refresh = (): void => {
    const made = this.#form.read();
    this.#form.show(made);
    this.#writeCode(made);
  };

  #writeCode({ input }: FormState): void {
    const { model = "", pinned, compatibilities: flags = "{}" } = this.#root.dataset;
    const compatibilities: Compatibilities = JSON.parse(flags);
    const version = pinned === undefined ? undefined : Number(pinned);
    const { origin } = location;
    for (const { id, code } of codeSamples({ origin, model, version, input, compatibilities })) {
      const place = this.#root.querySelector(`[data-call="${id}"] code`);
      if (place && place.textContent !== code) place.textContent = code;
    }
  }

  /** One thing at a time: what is asked for meanwhile is not begun. */
  async #alone(act: () => Promise<void>): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { activeElement: focused } = document;
    this.#button.disabled = true;
    try {
      await act();
    } catch (error) {
      this.#form.showProblem(error instanceof Error ? error.message : String(error));
    } finally {
      this.#button.disabled = false;
      this.#isBusy = false;
      // What is disabled loses it.
      if (focused instanceof HTMLElement && document.activeElement === document.body)
        focused.focus({ preventScroll: true });
    }
  }

  async #run(): Promise<void> {
    if (!this.#checked()) return;
    await this.#send();
    // Files that were still to be sent may have been removed meanwhile.
    const input = this.#checked();
    if (input) await this.#begin(input);
  }

  /** @returns the input, when nothing is wrong with it */
  #checked(): Input | undefined {
    const made = this.#form.read();
    this.#form.show(made, true);
    this.#writeCode(made);
    return made.messages.size > 0 ? undefined : made.input;
  }

  /** What is shown meanwhile is what is sent: nothing changes but that files can be left out. */
  async #send(): Promise<void> {
    const release = this.#form.disable();
    try {
      await this.#files.send();
    } finally {
      release();
    }
  }

  async #begin(input: Input): Promise<void> {
    const { playground = "", version } = this.#root.dataset;
    const response = await post(playground, { version: Number(version), input });
    const { id }: { id: string } = await response.json();
    history.replaceState(null, "", `${playground}?prediction=${id}`);
    await this.#open(id);
  }

  /** Shows a run as the server has it at this moment, and goes on from there. */
  async #open(id: string): Promise<void> {
    const response = await fetch(`/predictions/${id}/view`);
    // Signed out meanwhile it leads elsewhere.
    if (!response.ok || response.redirected)
      throw new Error("The prediction is running but cannot be shown here. Reload the page.");
    this.#detachView();
    this.#view.innerHTML = await response.text();
    enhance(this.#view);
    this.#detachView = attachPrediction(this.#view);
    this.#showTab("output");
    // On a phone it lies below the form.
    if (this.#view.getBoundingClientRect().top > innerHeight) this.#view.scrollIntoView();
  }

  #showTab(name: string): void {
    for (const panel of this.#root.querySelectorAll<HTMLElement>("[data-panel]"))
      panel.hidden = panel.dataset.panel !== name;
    for (const tab of this.#root.querySelectorAll<HTMLElement>("[data-tab]")) {
      if (tab.dataset.tab === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  }

  async #turn(): Promise<void> {
    // As JSON there are addresses alone.
    if (!this.#form.isJson) await this.#send();
    this.#form.showProblem(this.#form.switchMode());
    const link = requiredElement(this.#root, "[data-switch-mode]", HTMLAnchorElement);
    link.textContent = this.#form.isJson ? "Edit as form" : "Edit as JSON";
    this.#refresh();
  }
}

const root = document.querySelector<HTMLElement>("[data-playground]");
if (root) new Playground(root);
