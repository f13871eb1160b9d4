/** Pictures for the next message: attached by button, paste or drop, and uploaded when it is sent. */
import type { Picture } from "../../../playground/chat/conversation.ts";
import { element } from "../element.ts";
import { upload } from "../upload.ts";
import { previewView } from "./preview.ts";

/** The longer side of a preview, pixels. */
const PREVIEW = 240;
const MAX_PICTURES = 8;

interface Attached {
  name: string;
  preview: string;
  row: HTMLLIElement;
  /** Undefined once it is uploaded. */
  file: File | undefined;
  url: string;
}

export class Pictures {
  readonly #list: HTMLElement;
  readonly #onProblem: (message: string) => void;
  #all: Attached[] = [];

  constructor(list: HTMLElement, onProblem: (message: string) => void) {
    this.#list = list;
    this.#onProblem = onProblem;
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  async add(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      if (!file.type.startsWith("image/")) {
        this.#onProblem(`${file.name} is no picture.`);
      } else if (this.#all.length >= MAX_PICTURES) {
        this.#onProblem(`A message can have ${MAX_PICTURES} pictures.`);
      } else {
        const preview = await previewOf(file).catch(() => undefined);
        if (preview === undefined) this.#onProblem(`${file.name} cannot be read as a picture.`);
        else this.#attach({ name: file.name, preview, file, url: "" });
      }
    }
  }

  /** Those of a message that is edited. */
  set(pictures: Picture[]): void {
    this.clear();
    for (const picture of pictures) this.#attach({ ...picture, file: undefined });
  }

  clear(): void {
    this.#all = [];
    this.#list.replaceChildren();
    this.#list.hidden = true;
  }

  /** Uploads those that are not yet. @throws Error whose message can be shown */
  async send(signal: AbortSignal): Promise<Picture[]> {
    for (const one of this.#all) {
      if (one.file) one.url = await upload(one.file, { signal, onProgress: () => {} });
      one.file = undefined;
    }
    return this.#all.map(({ url, name, preview }) => ({ url, name, preview }));
  }

  #attach(picture: Omit<Attached, "row">): void {
    const remove = element("button", "remove", "×");
    remove.type = "button";
    remove.ariaLabel = `Remove ${picture.name}`;
    const row = element("li", "", previewView(picture), remove);
    const attached = { ...picture, row };
    remove.addEventListener("click", () => {
      this.#all = this.#all.filter((one) => one !== attached);
      row.remove();
      this.#list.hidden = this.#all.length === 0;
    });
    this.#all.push(attached);
    this.#list.append(row);
    this.#list.hidden = false;
  }
}

/** Small enough to keep with the conversation. */
async function previewOf(file: File): Promise<string> {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, PREVIEW / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL("image/webp", 0.7);
}
