/** The conversations of an account: their number, and those that are deleted with the account. */
import { MAX_CONVERSATIONS } from "../../domain/openai/conversation.ts";
import type { Bindings } from "../../env.ts";
import { conversationWithId } from "../stubs/conversation.ts";

const MAX_OBJECTS = 50;

export class Conversations {
  readonly #sql: SqlStorage;
  readonly #env: Bindings;

  constructor(sql: SqlStorage, env: Bindings) {
    this.#sql = sql;
    this.#env = env;
  }

  /** @returns false when the account has as many as it may */
  add(objectId: string): boolean {
    if (this.#has(objectId)) return true;
    const { count } = this.#sql
      .exec<{ count: number }>("SELECT COUNT(*) AS count FROM conversations")
      .one();
    if (count >= MAX_CONVERSATIONS) return false;
    this.#sql.exec("INSERT INTO conversations VALUES (?)", objectId);
    return true;
  }

  remove(objectId: string): void {
    this.#sql.exec("DELETE FROM conversations WHERE object_id = ?", objectId);
  }

  get isEmpty(): boolean {
    return this.#some(1).length === 0;
  }

  /**
   * Deletes the next conversations of a closed account.
   * @throws the error of a call that fails: its conversation is deleted next time
   */
  async discardSome(): Promise<void> {
    await Promise.all(
      this.#some(MAX_OBJECTS).map(async (objectId) => {
        await conversationWithId(this.#env, objectId)?.discard();
        this.remove(objectId);
      }),
    );
  }

  #has(objectId: string): boolean {
    const found = this.#sql.exec("SELECT 1 FROM conversations WHERE object_id = ?", objectId);
    return found.toArray().length > 0;
  }

  #some(limit: number): string[] {
    return this.#sql
      .exec<{ object_id: string }>("SELECT object_id FROM conversations LIMIT ?", limit)
      .toArray()
      .map(({ object_id }) => object_id);
  }
}
