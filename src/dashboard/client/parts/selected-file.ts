/** A selected file: preview, upload progress and a button that removes or cancels it. */
import { upload } from "./upload.ts";

/** Larger images are slow to scale down. */
const MAX_PREVIEW_BYTES = 20_000_000;

export class SelectedFile {
  readonly row = document.createElement("li");
  readonly #file: File;
  readonly #onRemove: () => void;
  readonly #state = document.createElement("span");
  readonly #button = document.createElement("button");
  #sending: AbortController | undefined;

  constructor(file: File, onRemove: () => void) {
    this.#file = file;
    this.#onRemove = onRemove;
    this.#state.className = "hint";
    this.#state.textContent = sizeText(file.size);
    this.#button.type = "button";
    this.#button.className = "plain";
    this.#button.textContent = "Remove";
    this.#button.setAttribute("aria-label", `Remove ${file.name}`);
    this.#button.addEventListener("click", () => this.#leave());
    const name = document.createElement("span");
    name.textContent = file.name;
    this.row.append(...previewOf(file), name, this.#state, this.#button);
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
      this.#sending.abort(new Error(`The upload of ${this.name} was canceled. Nothing was run.`));
      return;
    }
    this.row.remove();
    this.#onRemove();
  }
}

/** Empty for other files, and for images that the browser cannot decode. */
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
