/** File fields: files are picked or dropped, and uploaded when the model is run. */
import { button, element } from "./element.ts";
import { upload } from "./upload.ts";

export class FilePickers {
  readonly #pickers: FilePicker[];

  /** @param onChange called after files were added or removed */
  constructor(root: HTMLElement, onChange: () => void) {
    this.#pickers = [...root.querySelectorAll<HTMLElement>("[data-file-picker]")].map(
      (element) => new FilePicker(element, onChange),
    );
  }

  /** URLs that stand for files not uploaded yet, for validation and code samples. */
  placeholderUrls(control: HTMLElement): string[] {
    return (this.of(control)?.names ?? []).map(
      (name) => `https://example.com/${encodeURIComponent(name)}`,
    );
  }

  of(control: Element): FilePicker | undefined {
    return this.#pickers.find((one) => one.control === control);
  }

  get all(): readonly FilePicker[] {
    return this.#pickers;
  }

  /** Uploads all files and writes their URLs into the fields. @throws Error whose message can be shown */
  async send(): Promise<void> {
    for (const picker of this.#pickers) await picker.send();
  }
}

export class FilePicker {
  readonly control: HTMLInputElement | HTMLTextAreaElement;
  readonly element: HTMLElement;
  readonly #list: HTMLUListElement;
  readonly #several: boolean;
  readonly #onChange: () => void;
  /** Files not uploaded yet, in order. */
  #files: SelectedFile[] = [];

  constructor(element: HTMLElement, onChange: () => void) {
    const field = element.closest<HTMLElement>(".field");
    const control = field?.querySelector<HTMLInputElement | HTMLTextAreaElement>("[name]");
    const picker = element.querySelector<HTMLInputElement>('input[type="file"]');
    const list = element.querySelector("ul");
    if (!field || !control || !picker || !list) throw new Error("no field around a file picker");
    this.control = control;
    this.element = element;
    this.#list = list;
    this.#several = picker.multiple;
    this.#onChange = onChange;
    element.hidden = false;
    element.querySelector("button")?.addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      if (!control.disabled) this.take(picker.files);
      // Lets the same file be picked again.
      picker.value = "";
    });
    field.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    field.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      if (!control.disabled) this.take(event.dataTransfer.files);
    });
    // Typing a URL replaces the picked file.
    control.addEventListener("input", () => {
      if (!this.#several) this.#clear();
    });
  }

  get names(): string[] {
    return this.#files.map(({ name }) => name);
  }

  async send(): Promise<void> {
    for (;;) {
      const [file] = this.#files;
      if (!file) return;
      const url = await file.send();
      this.#drop(file);
      const before = this.#several ? this.control.value.trimEnd() : "";
      this.control.value = before === "" ? url : `${before}\n${url}`;
    }
  }

  /** Dropped files are handled like chosen ones. */
  take(files: Iterable<File> | null): void {
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
    const selected = new SelectedFile(file, () => {
      this.#drop(selected);
      this.#onChange();
    });
    this.#files.push(selected);
    this.#list.append(selected.row);
  }

  #drop(file: SelectedFile): void {
    this.#files = this.#files.filter((one) => one !== file);
  }

  #clear(): void {
    this.#files = [];
    this.#list.replaceChildren();
  }
}

/** Larger images are slow to scale down. */
const MAX_PREVIEW_BYTES = 20_000_000;

class SelectedFile {
  readonly row = element("li", "bar");
  readonly #file: File;
  readonly #onRemove: () => void;
  readonly #state = element("span", "hint");
  readonly #button = button("Remove", "plain", () => this.#leave());
  #sending: AbortController | undefined;

  constructor(file: File, onRemove: () => void) {
    this.#file = file;
    this.#onRemove = onRemove;
    this.#state.textContent = sizeText(file.size);
    this.#button.ariaLabel = `Remove ${file.name}`;
    this.row.append(...previewOf(file), element("span", "", file.name), this.#state, this.#button);
  }

  get name(): string {
    return this.#file.name;
  }

  /** @returns the URL of the file @throws Error whose message can be shown */
  async send(): Promise<string> {
    const { name, size } = this.#file;
    const bar = document.createElement("progress");
    bar.max = size;
    bar.value = 0;
    bar.setAttribute("aria-label", `Uploading ${name}`);
    const left = document.createElement("small");
    this.#state.replaceChildren(bar, left);
    this.#button.textContent = "Cancel";
    this.#button.setAttribute("aria-label", `Cancel upload of ${name}`);
    this.#sending = new AbortController();
    try {
      const url = await upload(this.#file, {
        signal: this.#sending.signal,
        onProgress: (sent) => {
          bar.value = sent;
          left.textContent = `${sizeText(sent)} of ${sizeText(size)}`;
        },
      });
      this.#state.textContent = `${sizeText(size)}, uploaded`;
      this.#button.remove();
      return url;
    } catch (error) {
      this.#state.textContent = sizeText(size);
      this.#button.textContent = "Remove";
      this.#button.setAttribute("aria-label", `Remove ${name}`);
      throw error;
    } finally {
      this.#sending = undefined;
    }
  }

  #leave(): void {
    if (this.#sending) {
      this.#sending.abort(new Error(`Upload of ${this.name} canceled. The model was not run.`));
      return;
    }
    this.row.remove();
    this.#onRemove();
  }
}

/** Returns a preview; an empty one for other files, and for images that the browser cannot decode. */
function previewOf(file: File): HTMLElement[] {
  if (!file.type.startsWith("image/") || file.size > MAX_PREVIEW_BYTES) return [];
  const image = new Image();
  image.alt = "";
  image.src = URL.createObjectURL(file);
  image.onload = () => URL.revokeObjectURL(image.src);
  image.onerror = () => image.remove();
  return [image];
}

/** `1.2 MB` */
function sizeText(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}
