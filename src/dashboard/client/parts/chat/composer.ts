/** The form for messages: text and pictures, sent with Enter. */
import type { Picture, UserTurn } from "../../../playground/chat/conversation.ts";
import { button, element } from "../element.ts";
import { requiredElement } from "../playground-form.ts";
import { messageOf } from "../post.ts";
import { upload } from "../upload.ts";
import { previewView } from "./turns.ts";

export interface ComposerOptions {
  /** The message is whole, with its pictures uploaded. */
  send: (message: UserTurn) => void;
  stop: () => void;
  clear: () => void;
  onInput: () => void;
}

export class Composer {
  readonly field: HTMLTextAreaElement;
  readonly #form: HTMLFormElement;
  readonly #send: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #clear: HTMLButtonElement;
  readonly #problem: HTMLElement;
  readonly #pictures: Pictures;
  readonly #takesPictures: boolean;
  readonly #options: ComposerOptions;
  #sending: AbortController | undefined;
  #isBusy = false;

  constructor(root: HTMLElement, options: ComposerOptions) {
    this.#options = options;
    this.#form = requiredElement(root, "[data-composer]", HTMLFormElement);
    this.field = requiredElement(root, "#chat-message", HTMLTextAreaElement);
    this.#send = requiredElement(root, "[data-send]", HTMLButtonElement);
    this.#stop = requiredElement(root, "[data-stop]", HTMLButtonElement);
    this.#clear = requiredElement(root, "[data-clear]", HTMLButtonElement);
    this.#problem = requiredElement(root, "[data-composer-problem]", HTMLElement);
    const list = requiredElement(root, "[data-attachments]", HTMLElement);
    this.#pictures = new Pictures(list, (message) => this.showProblem(message));
    this.#takesPictures = root.querySelector("[data-attach]") !== null;
    this.#listen();
    if (this.#takesPictures) this.#listenForPictures(root);
  }

  /** The text of the message as it is now, without its pictures. */
  get text(): string {
    return this.field.value;
  }

  write({ text, pictures }: UserTurn): void {
    this.field.value = text;
    this.#pictures.set(pictures);
    this.field.focus();
    this.field.setSelectionRange(text.length, text.length);
  }

  set isBusy(isBusy: boolean) {
    this.#isBusy = isBusy;
    // A pressed button would lose the focus when it is hidden.
    const hadFocus = [this.#send, this.#stop].some((one) => one === document.activeElement);
    this.#stop.hidden = !isBusy;
    this.#send.hidden = isBusy;
    if (hadFocus) this.field.focus({ preventScroll: true });
  }

  set canClear(can: boolean) {
    this.#clear.hidden = !can;
  }

  showProblem(message: string | undefined): void {
    this.#problem.hidden = message === undefined;
    this.#problem.textContent = message ?? "";
    if (message === undefined) return;
    this.#problem.role = "alert";
  }

  #listen(): void {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.field.addEventListener("keydown", (event) => {
      // Enter may end the input of one character, such as a Chinese one, and does not send the message then.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
    this.field.addEventListener("input", () => {
      this.showProblem(undefined);
      this.#options.onInput();
    });
    this.#stop.addEventListener("click", this.#options.stop);
    this.#clear.addEventListener("click", this.#options.clear);
  }

  #listenForPictures(root: HTMLElement): void {
    const picker = requiredElement(root, "[data-attach-files]", HTMLInputElement);
    const add = (files: Iterable<File>) => {
      this.showProblem(undefined);
      void this.#pictures.add(files);
    };
    root.querySelector("[data-attach]")?.addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      add([...(picker.files ?? [])]);
      picker.value = "";
    });
    this.field.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      add(files);
    });
    root.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    root.addEventListener("drop", (event) => {
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      add(files);
    });
  }

  async #submit(): Promise<void> {
    if (this.#isBusy || this.#sending) return;
    const text = this.field.value.trim();
    if (text === "" && this.#pictures.isEmpty) return;
    this.showProblem(undefined);
    this.#sending = new AbortController();
    this.#send.disabled = true;
    try {
      const pictures = await this.#pictures.send(this.#sending.signal);
      this.#options.send({ role: "user", text, pictures });
    } catch (error) {
      this.showProblem(messageOf(error));
    } finally {
      this.#sending = undefined;
      this.#send.disabled = false;
    }
  }

  empty(): void {
    this.field.value = "";
    this.#pictures.clear();
  }
}

/** The longer side of a preview, pixels. */
const PREVIEW = 240;
const MAX_PICTURES = 8;

interface Attached {
  name: string;
  preview: string;
  row: HTMLLIElement;
  /** The file of the picture; undefined once it is uploaded. */
  file: File | undefined;
  url: string;
}

class Pictures {
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
        this.#onProblem(`${file.name} is not an image.`);
      } else if (this.#all.length >= MAX_PICTURES) {
        this.#onProblem(`A message can have up to ${MAX_PICTURES} images.`);
      } else {
        const preview = await previewOf(file).catch(() => undefined);
        if (preview === undefined) this.#onProblem(`${file.name} is not a valid image.`);
        else this.#attach({ name: file.name, preview, file, url: "" });
      }
    }
  }

  set(pictures: Picture[]): void {
    this.clear();
    for (const picture of pictures) this.#attach({ ...picture, file: undefined });
  }

  clear(): void {
    this.#all = [];
    this.#list.replaceChildren();
    this.#list.hidden = true;
  }

  /** Uploads the pictures that are not uploaded yet. @throws Error whose message can be shown */
  async send(signal: AbortSignal): Promise<Picture[]> {
    for (const one of this.#all) {
      if (one.file) one.url = await upload(one.file, { signal, onProgress: () => {} });
      one.file = undefined;
    }
    return this.#all.map(({ url, name, preview }) => ({ url, name, preview }));
  }

  #attach(picture: Omit<Attached, "row">): void {
    const remove = button("×", "remove", () => {
      this.#all = this.#all.filter((one) => one !== attached);
      row.remove();
      this.#list.hidden = this.#all.length === 0;
    });
    remove.ariaLabel = `Remove ${picture.name}`;
    const row = element("li", "", previewView(picture), remove);
    const attached = { ...picture, row };
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
