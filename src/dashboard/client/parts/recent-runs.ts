/** Keeps the list of recent runs up to date: after each run and end, and while one is under way. */
import type { Prediction } from "../../../protocol/prediction.ts";
import { loadCurrentPage } from "./current-page.ts";
import { enhance } from "./enhance.ts";
import { replaceElement } from "./replace-element.ts";

/** Interval at which the header is loaded again, since runners come and go. */
const KEPT_MS = 60_000;

/** While the page is looked at, and as soon as it is looked at again. */
function keepFacts(): void {
  const refresh = () => {
    if (!document.hidden) void refreshFacts();
  };
  document.addEventListener("visibilitychange", refresh);
  window.setInterval(refresh, KEPT_MS);
}

/** A pool hears of a container as soon as its runner polls. */
const HEARD_MS = 1_000;

let lastStatus: string | undefined;
let timer: number | undefined;

/**
 * Loads the header again if it contradicts a run: a run that starts has a container, and a run that waits
 * again has lost it.
 */
function agreeFacts(status: string): void {
  const isLost = lastStatus === "started" && status === "pending";
  lastStatus = status;
  if (isLost) void refreshFacts();
  if (status !== "started" || !saysCold() || timer !== undefined) return;
  timer = window.setTimeout(() => {
    timer = undefined;
    if (saysCold()) void refreshFacts();
  }, HEARD_MS);
}

const saysCold = () =>
  document.querySelector("[data-expected] :is(.status.cold, .status.offline)") !== null;

/** After a run: its container is warm, and nothing waits any more. */
async function refreshFacts(): Promise<void> {
  const page = await loadCurrentPage();
  if (!page) return;
  const now = page.querySelectorAll<HTMLElement>("[data-expected]");
  for (const [n, old] of document.querySelectorAll<HTMLElement>("[data-expected]").entries())
    if (now[n]) replaceElement(old, now[n]);
}

/** While one is under way; the end of the run that is shown is known at once. */
const LIVE_MS = 3_000;

/** The page, and a run that has just begun, come first: this asks the same server. */
const SOON_MS = 500;

const PATIENCE_MS = 10_000;

type Status = Prediction["status"];

const UNDER_WAY: (string | null)[] = ["pending", "started"] satisfies Status[];

export class RecentRuns {
  readonly #root: HTMLElement;
  #timer: number | undefined;
  #loading: Promise<void> | undefined;
  #isAskedAgain = false;
  /** The last run that began here, in views that show no single run. */
  #begun: string | undefined;
  readonly #statuses = new Map<string, Status>();

  constructor(root: HTMLElement) {
    this.#root = root;
    document.addEventListener("prediction-status", () => {
      if (this.#list) this.#agree(this.#list);
      agreeFacts(this.#shown?.querySelector(".prediction-head .status")?.textContent ?? "");
    });
    document.addEventListener("prediction-ended", () => this.refresh());
    document.addEventListener("visibilitychange", () => this.refresh());
    keepFacts();
    this.refreshSoon();
  }

  /** Makes a run the current one instead of that of the address, in a view that shows no single run. */
  begin(id: string): void {
    this.#begun = id;
    this.refreshSoon();
  }

  /** Sets the status of a run in such a view. The list is loaded again at its end, for its picture. */
  setStatus(id: string, status: Status): void {
    this.#statuses.set(id, status);
    const isNews = this.#list !== null && this.#agree(this.#list);
    agreeFacts(status);
    if (isNews && !UNDER_WAY.includes(status)) this.refresh();
  }

  /** Refreshes the list once the shown run has had time to come. */
  refreshSoon(): void {
    clearTimeout(this.#timer);
    if (this.#list) this.#agree(this.#list);
    this.#timer = window.setTimeout(() => this.refresh(), SOON_MS);
  }

  refresh(): void {
    clearTimeout(this.#timer);
    if (this.#list) this.#agree(this.#list);
    if (document.hidden || !this.#list) return;
    // A list that is already loading may not have the change that this refresh is for.
    this.#isAskedAgain = this.#loading !== undefined;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
      if (this.#isAskedAgain) return this.refresh();
      if (this.#list?.dataset.live !== undefined)
        this.#timer = window.setTimeout(() => this.refresh(), LIVE_MS);
    });
  }

  get #list(): HTMLElement | null {
    return this.#root.querySelector("[data-recent]");
  }

  get #shown(): HTMLElement | null {
    return this.#root.querySelector("[data-prediction]");
  }

  /** Id of the shown run; views that show no single run have that of the address, until another begins. */
  get #shownId(): string {
    const named = new URLSearchParams(location.search).get("prediction");
    return this.#shown?.dataset.prediction ?? this.#begun ?? named ?? "";
  }

  /**
   * The run that is shown is the current one, and the list says of each what the page says of it.
   * @returns whether it said anything else of one
   */
  #agree(list: HTMLElement): boolean {
    const shownId = this.#shownId;
    const shown = this.#shown?.querySelector(".prediction-head .status")?.textContent || undefined;
    const hasLost = this.#shown?.querySelector("[data-problem]:not([hidden])") != null;
    let isNews = false;
    for (const link of list.querySelectorAll<HTMLAnchorElement>("li > a")) {
      const id = new URL(link.href).searchParams.get("prediction") ?? "";
      link.ariaCurrent = id === shownId ? "page" : null;
      const ofView = id === shownId ? shown : undefined;
      const status = ofView ?? this.#statuses.get(id);
      const badge = link.querySelector(".status");
      const text = badge?.querySelector(".visually-hidden");
      if (!badge || !text || !status || text.textContent === status) continue;
      // The view is about to say its end, unless it has lost its stream. A stream that is read from its
      // beginning says again what was.
      const isBehind = ofView === undefined || hasLost;
      if (isBehind && !UNDER_WAY.includes(text.textContent)) continue;
      badge.className = `status ${status}`;
      text.textContent = status;
      isNews = true;
    }
    return isNews;
  }

  /** Loads the list again; the current one stays if that fails. */
  async #load(): Promise<void> {
    const address = new URL(this.#list?.dataset.recent ?? "", location.href);
    address.searchParams.set("prediction", this.#shownId);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(address, { signal }).catch(() => undefined);
    if (!response?.ok || response.redirected) return;
    const text = await response.text().catch(() => undefined);
    if (text === undefined) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    const now = page.querySelector<HTMLElement>("[data-recent]");
    const old = this.#list;
    if (!now || !old) return;
    if (hasEnded(old, now)) void refreshFacts();
    enhance(now);
    this.#agree(now);
    // The row keeps its scroll position and its focus, also when a run has come before the focused one.
    const { scrollLeft = 0 } = rowOf(old) ?? {};
    const before = focusedIn(old)?.offsetLeft;
    replaceElement(old, now);
    const after = focusedIn(now)?.offsetLeft;
    const shift = before === undefined || after === undefined ? 0 : after - before;
    rowOf(now)?.scrollTo({ left: scrollLeft + shift });
  }
}

const rowOf = (list: HTMLElement) => list.querySelector("ol");

function focusedIn(list: HTMLElement): HTMLElement | undefined {
  const { activeElement: focused } = document;
  return focused instanceof HTMLElement && list.contains(focused) ? focused : undefined;
}

/** Whether nothing is under way any more, and something was, or came and went between the two. */
const hasEnded = (old: HTMLElement, now: HTMLElement): boolean =>
  now.dataset.live === undefined &&
  (old.dataset.live !== undefined || newestOf(old) !== newestOf(now));

const newestOf = (list: HTMLElement) => list.querySelector("li > a")?.getAttribute("href");
