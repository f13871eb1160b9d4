/**
 * A long text goes on as one scrolls: first with what the page has folded, then piece by piece from the
 * server. Without client code its link leads to a page of the next piece.
 */
import { SIGNED_OUT } from "./current-page.ts";
import { element } from "./element.ts";

/** Read this long before its end is seen. */
const AHEAD = "800px";
/** Of 100 KB each: what follows is read on a page of its own, so that this one stays quick. */
const MAX_PIECES = 8;
const ANSWER_MS = 20_000;
const LOST = "The next part could not be loaded. Try again.";
const GONE = "The rest of the output is no longer here: it was removed.";

export class LongText {
  readonly #root: HTMLElement;
  readonly #onText: () => void;
  readonly #observer: IntersectionObserver;
  #pieces = 0;
  #isLoading = false;
  /** Whether somebody has pressed the link since the last piece. */
  #isAsked = false;

  /** @param onText called when text has been added */
  constructor(root: HTMLElement, onText: () => void = () => {}) {
    this.#root = root;
    this.#onText = onText;
    this.#observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) this.#reached();
      },
      { rootMargin: `0px 0px ${AHEAD} 0px` },
    );
    root.addEventListener("click", (event) => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
      const isLink = event.target instanceof Element && event.target.closest("[data-next]");
      if (!isLink || !isPlain || this.#pieces >= MAX_PIECES) return;
      event.preventDefault();
      void this.#load(true);
    });
    this.watch();
  }

  /** To be called when the output was replaced. */
  watch(): void {
    this.#observer.disconnect();
    const end = this.#folded ?? (this.#pieces < MAX_PIECES ? this.#link : null);
    if (end) this.#observer.observe(end);
  }

  get #folded(): HTMLDetailsElement | null {
    return this.#root.querySelector("[data-output] > .output-rest");
  }

  get #link(): HTMLAnchorElement | null {
    return this.#root.querySelector("[data-next]");
  }

  #reached(): void {
    const folded = this.#folded;
    if (!folded) return void this.#load(false);
    const text = folded.querySelector(".text")?.textContent ?? "";
    const hadFocus = folded.contains(document.activeElement);
    const before = folded.previousElementSibling;
    folded.remove();
    this.#add(text, before, hadFocus);
    this.watch();
  }

  /** @param isAsked whether somebody has pressed the link, and wants to read on from there */
  async #load(isAsked: boolean): Promise<void> {
    const link = this.#link;
    // It may be on its way already.
    this.#isAsked ||= isAsked;
    if (!link || this.#isLoading) return;
    this.#isLoading = true;
    link.ariaBusy = "true";
    try {
      const { text, next } = await readPiece(link.href);
      this.#pieces += 1;
      const place = this.#root.querySelector("[data-output]")?.lastElementChild ?? null;
      // Lines are separate texts.
      const isLines = new URL(link.href).searchParams.has("lines");
      const isLast = next === undefined && link === document.activeElement;
      this.#add(text, isLines ? null : place, this.#isAsked || isLast);
      if (this.#isAsked) this.#say("More of the output is shown.");
      this.#goOn(link, next);
      this.watch();
    } catch (error) {
      // Scrolling does not ask again: the link does.
      this.#observer.disconnect();
      this.#say(error instanceof NotLoaded ? error.message : LOST, true);
    } finally {
      this.#isLoading = false;
      this.#isAsked = false;
      link.ariaBusy = null;
    }
  }

  #goOn(link: HTMLAnchorElement, next: string | undefined): void {
    this.#root.querySelector("[data-long-text-problem]")?.remove();
    if (next !== undefined) {
      link.href = next;
      if (this.#pieces >= MAX_PIECES) link.textContent = "Read on, on a page of its own";
      return;
    }
    link.remove();
    const hint = this.#root.querySelector<HTMLElement>("[data-more]");
    if (hint) hint.hidden = true;
  }

  /** @param place a text that it goes on from */
  #add(text: string, place: Element | null, isFocused: boolean): void {
    const piece = element("span", "output-piece", text);
    // Who reads with the keyboard or hears the page goes on at its beginning.
    piece.tabIndex = -1;
    if (place?.matches(".output-item.text")) place.append(piece);
    else
      this.#root.querySelector("[data-output]")?.append(element("div", "output-item text", piece));
    if (isFocused) piece.focus({ preventScroll: true });
    this.#onText();
  }

  #say(message: string, isProblem = false): void {
    if (isProblem) {
      const problem = element("p", "problem", message);
      problem.dataset.longTextProblem = "";
      this.#root.querySelector("[data-long-text-problem]")?.remove();
      this.#link?.before(problem);
    }
    const place = this.#root.querySelector("[data-announce]");
    if (place) place.textContent = message;
  }
}

/** With what to say. */
class NotLoaded extends Error {}

async function readPiece(address: string): Promise<{ text: string; next?: string }> {
  const response = await fetch(address, {
    headers: { accept: "application/json" },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  if (response.redirected || response.status === 401) throw new NotLoaded(SIGNED_OUT);
  if (response.status === 404) throw new NotLoaded(GONE);
  if (!response.ok) throw new NotLoaded(LOST);
  return response.json();
}
