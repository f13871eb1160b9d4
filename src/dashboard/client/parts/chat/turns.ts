import {
  type AssistantTurn,
  openCalls,
  type Picture,
  type ToolCall,
  type Turn,
  type UserTurn,
} from "../../../playground/chat/conversation.ts";
import { button, element, inAccount, link, picture } from "../element.ts";
import { MarkdownView } from "../markdown.ts";
import { requiredElement } from "../playground-form.ts";

export interface TurnActions {
  edit: () => void;
  retry: () => void;
  giveResult: (n: number, result: string) => void;
}

export function userView({ text, pictures }: UserTurn, { edit }: TurnActions): HTMLElement {
  const images = pictures.map(previewView);
  const item = element("li", "turn user");
  item.append(element("span", "visually-hidden", "You: "));
  if (images.length > 0) item.append(element("div", "flow turn-pictures", ...images));
  if (text !== "") item.append(element("div", "bubble", text));
  item.append(element("div", "bar turn-foot if-last-message", button("Edit", "plain", edit)));
  return item;
}

export class AnswerView {
  readonly root = element("li", "turn assistant");
  readonly #actions: TurnActions;
  readonly #text = new MarkdownView("prose");
  readonly #reasoning = new MarkdownView("prose");
  readonly #thoughts = element("details", "thoughts hint", element("summary", "", "Reasoning"));
  readonly #calls = element("div", "calls");
  readonly #note = element("p", "turn-note hint flush");
  readonly #problem = element("p", "problem");
  readonly #foot = element("div", "bar turn-foot");
  #callViews: CallView[] = [];
  #frame: number | undefined;

  constructor(turn: AssistantTurn, actions: TurnActions) {
    this.#actions = actions;
    this.#thoughts.append(this.#reasoning.root);
    this.root.append(
      element("span", "visually-hidden", "Model: "),
      this.#thoughts,
      this.#text.root,
      this.#calls,
      this.#note,
      this.#problem,
      this.#foot,
    );
    this.draw(turn, "");
  }

  /** Draws once per frame, however fast the model writes. */
  update(turn: AssistantTurn, note = ""): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.draw(turn, note));
  }

  draw(turn: AssistantTurn, note = ""): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    const isRunning = turn.state === "running";
    this.root.ariaBusy = String(isRunning);
    this.root.classList.toggle("writing", isRunning && note === "");
    this.#thoughts.hidden = turn.reasoning === "";
    if (turn.reasoning !== "") this.#reasoning.update(turn.reasoning);
    this.#text.update(turn.text);
    this.#showCalls(turn);
    this.#note.hidden = !isRunning || note === "";
    this.#note.textContent = note;
    const { problem } = turn;
    this.#problem.hidden = problem === undefined;
    this.#problem.textContent = problem ?? "";
    this.#problem.classList.toggle("mild", turn.state !== "failed");
    if (!isRunning) this.#showFoot(turn);
    else this.#foot.replaceChildren();
  }

  #showCalls({ calls, state }: AssistantTurn): void {
    while (this.#callViews.length < calls.length) {
      const n = this.#callViews.length;
      const view = new CallView((result) => this.#actions.giveResult(n, result));
      this.#callViews.push(view);
      this.#calls.append(view.root);
    }
    for (const [n, call] of calls.entries()) this.#callViews[n]?.update(call, state === "done");
  }

  #showFoot(turn: AssistantTurn): void {
    const { prediction, text } = turn;
    const parts: (Node | string)[] = [];
    if (text !== "") {
      const copy = button("Copy", "plain", () => void copyText(copy, text));
      parts.push(copy);
    }
    const again = button("Regenerate", "plain", this.#actions.retry);
    again.classList.add("if-last");
    parts.push(again);
    if (prediction !== undefined)
      parts.push(link(inAccount(`/predictions/${prediction}`), "Prediction"));
    parts.push(element("small", "numbers", factsOf(turn)));
    this.#foot.replaceChildren(...parts);
  }
}

const COPIED_MS = 2_000;

async function copyText(from: HTMLButtonElement, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = "Copied";
  } catch {
    from.textContent = "Not allowed";
  }
  setTimeout(() => {
    from.textContent = "Copy";
  }, COPIED_MS);
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;

/** `12 input, 80 output tokens · first token in 0.42 s · 4.10 s total` */
function factsOf({ state, usage, firstMs, totalMs }: AssistantTurn): string {
  const { input, output } = usage ?? {};
  const tokens = [
    input !== undefined && `${input} input`,
    output !== undefined && `${output} output`,
  ].filter(Boolean);
  return [
    state === "stopped" && "stopped",
    tokens.length > 0 && `${tokens.join(", ")} tokens`,
    firstMs !== undefined && `first token in ${seconds(firstMs)}`,
    totalMs !== undefined && `${seconds(totalMs)} total`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The most characters of arguments that are shown: each piece draws all of them again, which is slow. */
const SHOWN_CHARS = 20_000;

let count = 0;

class CallView {
  readonly root = element("section", "panel call");
  readonly #name = element("code", "");
  readonly #arguments = element("code", "");
  readonly #result = element("pre", "call-result");
  readonly #form = element("form", "call-form");

  constructor(give: (result: string) => void) {
    const box = element("pre", "", this.#arguments);
    box.tabIndex = 0;
    this.#result.tabIndex = 0;
    this.#addForm(give);
    this.root.ariaLabel = "Tool call";
    this.root.append(
      element("p", "call-name", "Calls ", this.#name),
      box,
      this.#form,
      this.#result,
    );
  }

  /** @param isWhole whether the model has written all of it */
  update({ name, arguments: json, result }: ToolCall, isWhole: boolean): void {
    if (this.#name.textContent !== name) this.#name.textContent = name;
    const text = shown(json, isWhole);
    if (this.#arguments.textContent !== text) this.#arguments.textContent = text;
    this.#form.hidden = !isWhole || result !== undefined;
    this.#result.hidden = result === undefined;
    this.#result.textContent = result ?? "";
  }

  #addForm(give: (result: string) => void): void {
    count += 1;
    const label = element("label", "", "Tool result");
    const field = element("textarea", "mono");
    field.id = `call-result-${count}`;
    field.rows = 2;
    field.placeholder = '{"temperature": 21}';
    label.htmlFor = field.id;
    this.#form.append(label, field, button("Send result", "quiet"));
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      give(field.value);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
  }
}

/** All of it is given to the model. */
function shown(json: string, isWhole: boolean): string {
  if (json.length > SHOWN_CHARS) return `${json.slice(0, SHOWN_CHARS)}…`;
  return isWhole ? readable(json) : json;
}

function readable(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json || "{}"), null, 2);
  } catch {
    return json;
  }
}

export function previewView({ preview, name }: Pick<Picture, "preview" | "name">): HTMLElement {
  if (preview === "") return element("span", "badge", name);
  return picture(preview, name);
}

/** Distance from the end of the page, px; a reader who has scrolled up further reads something else. */
const NEAR_END = 160;

export class Turns {
  readonly #list: HTMLElement;
  readonly #welcome: HTMLElement;
  readonly #announce: HTMLElement;
  readonly #actions: TurnActions;
  /** The view of each turn, and the turn that it was made for. */
  #shown: { turn: Turn; element: HTMLElement; answer?: AnswerView }[] = [];

  constructor(root: HTMLElement, actions: TurnActions) {
    this.#list = requiredElement(root, "[data-turns]", HTMLElement);
    this.#welcome = requiredElement(root, "[data-welcome]", HTMLElement);
    this.#announce = requiredElement(root, "[data-announce]", HTMLElement);
    this.#actions = actions;
  }

  show(turns: Turn[]): void {
    const differs = turns.findIndex((turn, n) => this.#shown[n]?.turn !== turn);
    const kept = differs < 0 ? turns.length : differs;
    for (const { element } of this.#shown.splice(kept)) element.remove();
    for (const turn of turns.slice(kept)) {
      const answer = turn.role === "assistant" ? new AnswerView(turn, this.#actions) : undefined;
      const element = turn.role === "user" ? userView(turn, this.#actions) : answer?.root;
      if (!element) continue;
      this.#list.append(element);
      this.#shown.push({ turn, element, ...(answer && { answer }) });
    }
    this.#welcome.hidden = turns.length > 0;
    const lastMessage = turns.findLastIndex(({ role }) => role === "user");
    for (const [n, { element }] of this.#shown.entries()) {
      element.classList.toggle("last-message", n === lastMessage);
      element.classList.toggle("last", n === turns.length - 1);
    }
  }

  /** The last answer has changed. @param note the reason why it waits */
  update(turn: AssistantTurn, note?: string): void {
    const { isAtEnd } = this;
    this.#shown.find((one) => one.turn === turn)?.answer?.update(turn, note);
    // The frame in which it is drawn is the next.
    if (isAtEnd) requestAnimationFrame(() => requestAnimationFrame(() => this.scrollToEnd()));
  }

  /** The last answer is whole, or has got the result of a call. */
  finish(turn: AssistantTurn): void {
    const { isAtEnd } = this;
    this.#shown.find((one) => one.turn === turn)?.answer?.draw(turn);
    if (isAtEnd) this.scrollToEnd();
  }

  get isAtEnd(): boolean {
    return this.#list.getBoundingClientRect().bottom - innerHeight < NEAR_END;
  }

  /** Scrolls so far that the composer, which stays at the bottom, hides no turn. */
  scrollToEnd(): void {
    this.#list.parentElement?.lastElementChild?.scrollIntoView({ block: "end" });
  }

  /** Announces whole answers to screen readers, not every token. */
  announce(message: string): void {
    this.#announce.textContent = message;
  }

  /** The field of the first call that waits for a result. */
  focusCall(turns: Turn[]): void {
    if (openCalls(turns).length === 0) return;
    this.#list.querySelector<HTMLElement>(".call-form:not([hidden]) textarea")?.focus();
  }
}
