/** Pictures of an output, large: a dialog over the page, from which the arrows lead to those beside. */
import { button, element } from "./element.ts";

/** Without client code the links lead to the pictures themselves. */
export function attachZoom(root: HTMLElement): void {
  makeZoomable(root);
  root.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || !(event.target instanceof Element))
      return;
    const opener = event.target.closest<HTMLElement>("[data-zoom]");
    if (!opener) return;
    event.preventDefault();
    const all = [...root.querySelectorAll<HTMLElement>("[data-zoom]")];
    new Zoom(all).open(all.indexOf(opener));
  });
}

/** Pictures without a link: browsers open no data URL as a page. */
export function makeZoomable(root: ParentNode): void {
  for (const picture of root.querySelectorAll<HTMLImageElement>("figure > img")) {
    const { parentElement: figure } = picture;
    figure?.prepend(zoomButton(picture));
  }
}

export function zoomButton(picture: HTMLImageElement): HTMLButtonElement {
  const opener = element("button", "plain", picture);
  opener.type = "button";
  opener.dataset.zoom = "";
  return opener;
}

class Zoom {
  readonly #openers: HTMLElement[];
  readonly #picture = element("img", "");
  readonly #count = element("span", "hint");
  readonly #download = element("a", "push", "Download");
  readonly #dialog = element("dialog", "zoom");
  #at = 0;

  constructor(openers: HTMLElement[]) {
    this.#openers = openers;
    const close = button("Close", "quiet", () => this.#dialog.close());
    const turns = [
      button("Previous", "quiet", () => this.#turn(-1)),
      button("Next", "quiet", () => this.#turn(1)),
    ];
    for (const turn of turns) turn.hidden = openers.length < 2;
    this.#dialog.ariaLabel = "Picture";
    this.#dialog.append(
      element("div", "bar zoom-bar", ...turns, this.#count, this.#download, close),
      this.#picture,
    );
    this.#dialog.addEventListener("keydown", ({ key }) => {
      if (key === "ArrowLeft") this.#turn(-1);
      if (key === "ArrowRight") this.#turn(1);
    });
    this.#dialog.addEventListener("click", ({ target }) => {
      if (target === this.#dialog) this.#dialog.close();
    });
    this.#dialog.addEventListener("close", () => {
      this.#dialog.remove();
      this.#openers[this.#at]?.focus();
    });
  }

  open(at: number): void {
    document.body.append(this.#dialog);
    this.#show(at);
    this.#dialog.showModal();
  }

  #turn(by: number): void {
    const { length } = this.#openers;
    this.#show((this.#at + by + length) % length);
  }

  #show(at: number): void {
    this.#at = at;
    const shown = this.#openers[at]?.querySelector("img");
    if (!shown) return;
    this.#picture.src = shown.src;
    this.#picture.alt = shown.alt;
    this.#download.href = shown.src;
    this.#download.download = shown.alt;
    this.#count.textContent =
      this.#openers.length < 2 ? "" : `${at + 1} of ${this.#openers.length}`;
  }
}
