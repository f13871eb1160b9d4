/** The playground: validates input, uploads files, runs the model and has its result shown. */
import type { Input } from "../../../domain/schemas/input-form-values.ts";
import { exactText } from "../../../lib/exact-json.ts";
import { RUN_AS_FIELD, VERSION_FIELD } from "../../playground/control-names.ts";
import { FilePickers } from "./file-pickers.ts";
import { attachSliders, PlaygroundForm, requiredElement, showCode } from "./playground-form.ts";
import { messageOf, post } from "./post.ts";
import { runInAddress } from "./run-steps.ts";

export interface Result {
  open(id: string, input: Input): Promise<void>;
}

/** Validation waits until typing pauses. */
const DEBOUNCE_MS = 150;

export class Playground {
  readonly #root: HTMLElement;
  readonly #form: PlaygroundForm;
  readonly files: FilePickers;
  readonly #result: Result;
  readonly #resultElement: HTMLElement;
  readonly #button: HTMLButtonElement;
  #isBusy = false;
  /** The input of the run that is shown, as JSON. */
  #ran: string;
  #timer: number | undefined;

  constructor(root: HTMLElement, result: Result) {
    this.#root = root;
    this.files = new FilePickers(root, this.#refresh);
    this.#form = new PlaygroundForm(root, (control) => this.files.placeholderUrls(control));
    this.#result = result;
    this.#ran = JSON.stringify(this.#form.read().input);
    this.#resultElement = requiredElement(root, '[data-panel="output"]', HTMLElement);
    this.#button = requiredElement(this.#form.element, 'button[type="submit"]', HTMLButtonElement);
    this.#carryOver();
    attachSliders(root);
    this.#listen();
  }

  /** Keeps the input of a visitor while they log in, and fills it in afterwards. */
  #carryOver(): void {
    const { playground = "" } = this.#root.dataset;
    const key = `input of ${playground}`;
    const signIn = this.#button.form;
    if (signIn !== this.#form.element)
      return signIn?.addEventListener("submit", () => {
        sessionStorage.setItem(key, exactText(this.#form.read().input));
      });
    const typed = sessionStorage.getItem(key);
    sessionStorage.removeItem(key);
    if (typed !== null && runInAddress() === null) this.#form.restore(typed);
  }

  #listen(): void {
    const { element } = this.#form;
    element.addEventListener("input", this.#scheduleRefresh);
    element.addEventListener("focusout", this.#scheduleRefresh);
    const versions = requiredElement(this.#root, ".playground-version button", HTMLButtonElement);
    versions.hidden = true;
    for (const field of this.#root.querySelectorAll(`#${VERSION_FIELD}, #${RUN_AS_FIELD}`))
      field.addEventListener("change", () => versions.form?.requestSubmit(versions));
    for (const link of document.querySelectorAll<HTMLAnchorElement>("[data-views] a"))
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        void this.#exclusively(() => this.#openView(link, versions));
      });
    element.addEventListener("submit", (event) => {
      // Switching versions loads another page.
      if (event.submitter === versions) return;
      event.preventDefault();
      if (this.#button.form !== element) return this.#button.click();
      void this.#exclusively(() => this.#run());
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
        // The code has the form's current values, also those typed while this script was loading.
        this.#refresh();
        this.#showTab(tab.dataset.tab ?? "");
      });
    }
    this.#root.querySelector("[data-switch-mode]")?.addEventListener("click", (event) => {
      event.preventDefault();
      void this.#exclusively(() => this.#switchMode());
    });
  }

  readonly #scheduleRefresh = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#refresh, DEBOUNCE_MS);
  };

  readonly #refresh = (): void => {
    clearTimeout(this.#timer);
    const state = this.#form.read();
    this.#form.show(state);
    showCode(this.#root, state);
  };

  async #exclusively(act: () => Promise<void>): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { activeElement: focused } = document;
    this.#button.disabled = true;
    this.#button.ariaBusy = "true";
    try {
      await act();
    } catch (error) {
      this.#form.showProblem(messageOf(error));
    } finally {
      this.#button.disabled = false;
      this.#button.ariaBusy = null;
      this.#isBusy = false;
      // Disabled controls lose the focus.
      if (focused instanceof HTMLElement && document.activeElement === document.body)
        focused.focus({ preventScroll: true });
    }
  }

  async #run(): Promise<void> {
    if (!this.#validate()) return;
    await this.#upload();
    // Files may have been removed during the upload.
    const input = this.#validate();
    if (input) await this.#start(input);
  }

  /** @returns the input when it is valid */
  #validate(): Input | undefined {
    const state = this.#form.read();
    this.#form.show(state, true);
    showCode(this.#root, state);
    return state.messages.size > 0 ? undefined : state.input;
  }

  /** Opens another view with the shown run, or, through the form, with the input that was typed since. */
  async #openView({ href }: HTMLAnchorElement, versions: HTMLButtonElement): Promise<void> {
    const address = new URL(href);
    const run = new URLSearchParams(location.search).get("prediction");
    const view = this.#form.element.querySelector<HTMLInputElement>('input[name="view"]');
    const isAsRun = JSON.stringify(this.#form.read().input) === this.#ran;
    const to = address.searchParams.get("view") ?? "";
    if (!view || to === "chat" || (run !== null && isAsRun)) {
      if (run !== null) address.searchParams.set("prediction", run);
      return location.assign(address);
    }
    await this.#upload();
    view.value = to;
    this.#form.element.requestSubmit(versions);
  }

  /** The form is disabled meanwhile; only files can still be removed. */
  async #upload(): Promise<void> {
    const release = this.#form.disable();
    try {
      await this.files.send();
    } finally {
      release();
    }
  }

  async #start(input: Input): Promise<void> {
    const { playground = "", version } = this.#root.dataset;
    const response = await post(playground, { version: Number(version), input });
    const { id }: { id: string } = await response.json();
    this.#ran = JSON.stringify(input);
    await this.#result.open(id, input);
    this.#showTab("output");
    // The output is below the form on a phone: a third of the window is left for it.
    if (this.#resultElement.getBoundingClientRect().top > (innerHeight * 2) / 3)
      this.#resultElement.scrollIntoView();
  }

  #showTab(name: string): void {
    for (const panel of this.#root.querySelectorAll<HTMLElement>("[data-panel]"))
      panel.hidden = panel.dataset.panel !== name;
    for (const tab of this.#root.querySelectorAll<HTMLElement>("[data-tab]")) {
      if (tab.dataset.tab === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  }

  async #switchMode(): Promise<void> {
    // JSON can only refer to files by URL.
    if (!this.#form.isJson) await this.#upload();
    this.#form.showProblem(this.#form.switchMode());
    const link = requiredElement(this.#root, "[data-switch-mode]", HTMLAnchorElement);
    link.textContent = this.#form.isJson ? "Edit as form" : "Edit as JSON";
    this.#refresh();
  }
}
