/** The chat of the playground. */

import {
  type AssistantTurn,
  beforeLastMessage,
  historyText,
  isBusy,
  newAnswer,
  openCalls,
  readHistory,
  type Turn,
  type UserTurn,
  withoutAnswer,
} from "../playground/chat/conversation.ts";
import { type ChatOptions, chatInput } from "../playground/chat/input.ts";
import type { ChatWire } from "../playground/chat/wire.ts";
import { VERSION_FIELD } from "../playground/control-names.ts";
import { Answer } from "./parts/chat/answer.ts";
import { Composer } from "./parts/chat/composer.ts";
import { Conversations } from "./parts/chat/conversations.ts";
import { attachSides, Settings } from "./parts/chat/settings.ts";
import { Turns } from "./parts/chat/turns.ts";
import { showCode } from "./parts/playground-form.ts";
import { RecentRuns } from "./parts/recent-runs.ts";
import { runInAddress } from "./parts/run-steps.ts";

/** The code follows when typing pauses. */
const DEBOUNCE_MS = 150;
/** The most characters of an answer that screen readers read out. */
const ANNOUNCED_CHARS = 1_000;

const OPEN_CALL = "The model is waiting for a tool result. Enter it above, or edit your message.";

class Chat {
  readonly #root: HTMLElement;
  readonly #wire: ChatWire;
  readonly #settings: Settings;
  readonly #composer: Composer;
  readonly #view: Turns;
  readonly #conversations: Conversations;
  readonly #recent: RecentRuns;
  readonly #showConversation: () => void;
  #turns: Turn[] = [];
  #answer: Answer | undefined;
  #timer: number | undefined;
  /** The run that has written the last answer; empty for none. */
  #run: string | undefined;

  constructor(root: HTMLElement) {
    this.#root = root;
    const { wire } = root.dataset;
    this.#wire = wire === "responses" || wire === "messages" ? wire : "chat";
    const changed = () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#changed(), DEBOUNCE_MS);
    };
    this.#settings = new Settings(root, changed);
    this.#composer = new Composer(root, {
      send: (message) => this.#send(message),
      stop: () => this.#answer?.stop(),
      clear: () => this.#clear(),
      onInput: changed,
    });
    this.#view = new Turns(root, {
      edit: () => this.#edit(),
      retry: () => this.#retry(),
      giveResult: (n, result) => this.#giveResult(n, result),
    });
    this.#conversations = new Conversations(root.dataset);
    this.#recent = new RecentRuns(root);
    const sides = attachSides(root);
    this.#showConversation = () => sides.showConversation();
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#answer?.stop();
    });
    root.addEventListener("click", (event) => this.#openAgain(event));
    addEventListener("pagehide", () => this.#keep());
    this.#resume();
  }

  /** Shows the conversation of the last load of the page, or of the opened run. An answer goes on. */
  #resume(): void {
    const { opened = null } = this.#root.dataset;
    const kept = readHistory(this.#conversations.kept) ?? readHistory(opened);
    if (kept) {
      this.#settings.texts = kept;
      this.#turns = kept.turns;
    }
    this.#show();
    const last = this.#turns.at(-1);
    if (last?.role === "assistant" && last.state === "running") this.#follow(last, {});
    if (this.#turns.length > 0) this.#view.scrollToEnd();
    else if (matchMedia("(pointer: fine)").matches)
      this.#composer.field.focus({ preventScroll: true });
  }

  #send(message: UserTurn): void {
    if (openCalls(this.#turns).length > 0) return this.#composer.showProblem(OPEN_CALL);
    const options = this.#options();
    if (!options) return;
    this.#composer.empty();
    this.#turns = [...this.#turns, message];
    this.#ask(options);
  }

  #edit(): void {
    const last = beforeLastMessage(this.#turns);
    if (!last || isBusy(this.#turns)) return;
    this.#turns = last.before;
    this.#composer.write(last.message);
    this.#show();
  }

  #retry(): void {
    const options = isBusy(this.#turns) ? undefined : this.#options();
    if (!options) return;
    this.#turns = withoutAnswer(this.#turns);
    this.#ask(options);
  }

  /** The model goes on when each of its calls has a result. */
  #giveResult(n: number, result: string): void {
    const last = this.#turns.at(-1);
    const call = last?.role === "assistant" ? last.calls[n] : undefined;
    if (last?.role !== "assistant" || !call) return;
    const isLast = openCalls(this.#turns).length === 1;
    const options = isLast ? this.#options() : undefined;
    if (isLast && !options) return;
    call.result = result;
    this.#view.finish(last);
    if (options) this.#ask(options);
    else this.#changed();
  }

  /** Back leads to the conversation as it was. */
  #clear(): void {
    this.#answer?.stop();
    this.#answer = undefined;
    this.#keep();
    const { chat = "", pinned } = this.#root.dataset;
    this.#conversations.begin(pinned === undefined ? chat : `${chat}?version=${pinned}`);
    leaveRun();
    this.#turns = [];
    this.#show();
    this.#composer.field.focus();
  }

  /** Returns the settings; undefined if they are invalid, and then shows their errors. */
  #options(): ChatOptions | undefined {
    const options = this.#settings.read();
    if (options) return options;
    this.#composer.showProblem("Check the highlighted settings.");
    this.#root.querySelector<HTMLElement>('[data-tab="settings"]')?.click();
    this.#settings.showFault();
    return undefined;
  }

  #ask(options: ChatOptions): void {
    const body = {
      version: Number(this.#root.dataset.version),
      input: { ...chatInput(this.#wire, this.#turns, options), ...this.#stream },
    };
    const turn = newAnswer(Date.now());
    this.#turns = [...this.#turns, turn];
    this.#showConversation();
    this.#show();
    this.#view.announce("Generating a reply…");
    this.#view.scrollToEnd();
    this.#composer.field.focus({ preventScroll: true });
    this.#follow(turn, body);
  }

  /** Servers stream when they are asked to; Cog models by themselves. */
  get #stream(): { stream?: true } {
    return this.#root.dataset.asksToStream === undefined ? {} : { stream: true };
  }

  #follow(turn: AssistantTurn, body: object): void {
    this.#composer.isBusy = true;
    this.#answer = new Answer({
      turn,
      start: { address: this.#root.dataset.chat ?? "", body },
      onChange: (note) => this.#view.update(turn, note),
      onStatus: (id, status) => {
        this.#recent.setStatus(id, status);
        this.#markRun();
      },
      onEnd: () => this.#ended(turn),
    });
    // The prediction is kept at once, so that it can be found again if the page is left now.
    this.#keep();
  }

  #ended(turn: AssistantTurn): void {
    if (this.#turns.at(-1) !== turn) return;
    this.#answer = undefined;
    this.#show();
    this.#view.finish(turn);
    this.#view.announce(announcementOf(turn));
    this.#view.focusCall(this.#turns);
    this.#recent.refreshSoon();
  }

  #show(): void {
    this.#view.show(this.#turns);
    this.#composer.isBusy = isBusy(this.#turns);
    this.#composer.canClear = this.#turns.length > 0;
    this.#root.classList.toggle("busy", isBusy(this.#turns));
    this.#markRun();
    this.#changed();
  }

  #markRun(): void {
    const answers = this.#turns.filter((turn) => turn.role === "assistant");
    const run = answers.findLast(({ prediction }) => prediction !== undefined)?.prediction ?? "";
    if (run === this.#run) return;
    this.#run = run;
    this.#recent.begin(run);
  }

  /** Opens the run of the address again when it is chosen in the list: the conversation has gone on since. */
  #openAgain(event: MouseEvent): void {
    const { target, button, ctrlKey, metaKey, shiftKey } = event;
    const link = target instanceof Element ? target.closest("a") : null;
    if (link?.href !== location.href || button > 0 || ctrlKey || metaKey || shiftKey) return;
    if (runInAddress() === this.#run) return;
    event.preventDefault();
    this.#conversations.openAgain();
  }

  #changed(): void {
    this.#keep();
    this.#updateCode();
  }

  #keep(): void {
    const { texts } = this.#settings;
    this.#conversations.keep(historyText({ ...texts, turns: this.#turns }));
  }

  /** With the message that is being written. */
  #updateCode(): void {
    const options = this.#settings.read();
    if (!options) return;
    const text = this.#composer.text.trim();
    const draft: Turn[] = text === "" ? [] : [{ role: "user", text, pictures: [] }];
    const turns = [...withoutAnswerTo(this.#turns, draft), ...draft];
    const input = (wire: ChatWire) => chatInput(wire, turns, options);
    if (turns.length === 0) return showCode(this.#root, { input: {} });
    showCode(this.#root, {
      input: input(this.#wire),
      inputs: { chat: input("chat"), responses: input("responses"), messages: input("messages") },
    });
  }
}

/** The code asks for the last answer again if there is no draft. */
const withoutAnswerTo = (turns: Turn[], draft: Turn[]): Turn[] =>
  draft.length > 0 || openCalls(turns).length > 0 ? turns : withoutAnswer(turns);

function announcementOf({ state, text, problem, calls }: AssistantTurn): string {
  if (state === "failed") return `The reply failed. ${problem ?? ""}`;
  const called = calls.map(({ name }) => `The model called ${name}. Enter the result.`);
  const start = state === "stopped" ? "Stopped." : "";
  return [start, text.slice(0, ANNOUNCED_CHARS), ...called].filter(Boolean).join(" ");
}

/** Once another conversation begins, nothing on the page leads back into the run that was opened. */
function leaveRun(): void {
  document.querySelector("[data-run-note]")?.remove();
  document.querySelector('.playground-version [name="prediction"]')?.remove();
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".segments a")) {
    const address = new URL(link.href);
    address.searchParams.delete("prediction");
    link.href = address.pathname + address.search;
  }
}

const root = document.querySelector<HTMLElement>("[data-chat]");
if (root) new Chat(root);

const versions = document.querySelector<HTMLSelectElement>(`#${VERSION_FIELD}`);
versions?.form?.querySelector("button")?.remove();
versions?.addEventListener("change", () => versions.form?.requestSubmit());
