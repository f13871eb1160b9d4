/** Files for an input: chosen or dropped, shown, and sent when the model is run. */
import { SelectedFile } from "./selected-file.ts";

export class FilePickers {
  readonly #choosers: FilePicker[];

  /** @param onChange after files have come or gone */
  constructor(root: HTMLElement, onChange: () => void) {
    this.#choosers = [...root.querySelectorAll<HTMLElement>("[data-file-picker]")].map(
      (element) => new FilePicker(element, onChange),
    );
  }

  /** Addresses that stand for what is not sent yet. */
  placeholderUrls(control: HTMLElement): string[] {
    const chooser = this.#choosers.find((one) => one.control === control);
    return (chooser?.names ?? []).map((name) => `https://example.com/${encodeURIComponent(name)}`);
  }

  /** Sends them; then their addresses stand in the fields. @throws Error whose message can be shown */
  async send(): Promise<void> {
    for (const chooser of this.#choosers) await chooser.send();
  }
}

class FilePicker {
  readonly control: HTMLInputElement | HTMLTextAreaElement;
  readonly #list: HTMLUListElement;
  readonly #several: boolean;
  readonly #onChange: () => void;
  /** What is not sent yet, in order. */
  #waiting: SelectedFile[] = [];

  constructor(element: HTMLElement, onChange: () => void) {
    const field = element.closest<HTMLElement>(".field");
    const control = field?.querySelector<HTMLInputElement | HTMLTextAreaElement>("[name]");
    const picker = element.querySelector<HTMLInputElement>('input[type="file"]');
    const list = element.querySelector("ul");
    if (!field || !control || !picker || !list) throw new Error("no field around a chooser");
    this.control = control;
    this.#list = list;
    this.#several = picker.multiple;
    this.#onChange = onChange;
    element.hidden = false;
    element.querySelector("button")?.addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      if (!control.disabled) this.#take(picker.files);
      // The same file may be chosen once more.
      picker.value = "";
    });
    field.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    field.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      if (!control.disabled) this.#take(event.dataTransfer.files);
    });
    // What is typed is meant in place of what was chosen before.
    control.addEventListener("input", () => {
      if (!this.#several) this.#clear();
    });
  }

  get names(): string[] {
    return this.#waiting.map(({ name }) => name);
  }

  async send(): Promise<void> {
    for (;;) {
      const [file] = this.#waiting;
      if (!file) return;
      const url = await file.send();
      this.#drop(file);
      const before = this.#several ? this.control.value.trimEnd() : "";
      this.control.value = before === "" ? url : `${before}\n${url}`;
    }
  }

  #take(files: FileList | null): void {
    const [first, ...rest] = files ?? [];
    if (!first) return;
    if (!this.#several) {
      this.#clear();
      this.control.value = "";
    }
    for (const file of this.#several ? [first, ...rest] : [first]) this.#add(file);
    this.#onChange();
  }

  #add(file: File): void {
    const chosen = new SelectedFile(file, () => {
      this.#drop(chosen);
      this.#onChange();
    });
    this.#waiting.push(chosen);
    this.#list.append(chosen.row);
  }

  #drop(file: SelectedFile): void {
    this.#waiting = this.#waiting.filter((one) => one !== file);
  }

  #clear(): void {
    this.#waiting = [];
    this.#list.replaceChildren();
  }
}
