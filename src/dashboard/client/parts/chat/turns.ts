/** The turns on the page, which follow the conversation. */
import { type AssistantTurn, openCalls, type Turn } from "../../../playground/chat/conversation.ts";
import { requiredElement } from "../playground-form.ts";
import { AnswerView, type TurnActions, userView } from "./turn-view.ts";

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
