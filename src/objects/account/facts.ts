/** The facts that an account object remembers by name. */

type Name = "user_id" | "closed" | "history_end" | "trimmed_to";

export class Facts {
  readonly #kv: SyncKvStorage;
  readonly #known: Map<string, unknown>;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
    this.#known = new Map(kv.list());
  }

  set(name: Name, value: string | boolean): void {
    this.#known.set(name, value);
    this.#kv.put(name, value);
  }

  #textOf(name: Name): string {
    return String(this.#known.get(name) ?? "");
  }

  get userId(): string {
    return this.#textOf("user_id");
  }

  /** A tombstone, so that late messages are refused. */
  get closed(): boolean {
    return this.#known.get("closed") === true;
  }

  /** The last id that was deleted with its history: no id up to it is written again. */
  get historyEnd(): string {
    return this.#textOf("history_end");
  }

  /** The last id that was deleted early, because the history was full. Empty: none was. */
  get trimmedTo(): string {
    return this.#textOf("trimmed_to");
  }
}
