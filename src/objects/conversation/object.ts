/**
 * A conversation: items that responses are given before their input, and that they add to. Each conversation
 * is an object of its own, so that its items are in order, and no other call waits for it. No message says
 * that a response has ended: the next call looks, and adds the response's items
 * (services/openai/conversation-updates.ts).
 * Until then the conversation takes no other response, so that each sees all earlier items.
 */
import { DurableObject } from "cloudflare:workers";
import { accessToConversation } from "../../domain/accounts/access.ts";
import { MAX_BYTES } from "../../domain/openai/conversation.ts";
import { type Bindings, settings } from "../../env.ts";
import { MAX_ITEMS } from "../../protocol/openai/response.ts";
import { accountAt } from "../stubs/account.ts";
import type {
  Added,
  AllItems,
  Begun,
  ConversationUpdate,
  Head,
  ItemJson,
  ItemsPage,
  ItemsRange,
  Large,
  Metadata,
  Participant,
  Refused,
} from "../stubs/conversation.ts";

const CREATE = `
CREATE TABLE IF NOT EXISTS items (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, text TEXT);
CREATE TABLE IF NOT EXISTS pieces (
  position INTEGER NOT NULL, piece INTEGER NOT NULL, content BLOB NOT NULL,
  PRIMARY KEY (position, piece)) WITHOUT ROWID;
`;

/** Bytes of a piece, in UTF-8. */
const PIECE = 1_000_000;

const encoder = new TextEncoder();

const decoder = new TextDecoder();

interface Record extends Head {
  user_id: string;
  maker: string;
  account_object: string;
  /** The models of all tokens that have made the conversation or added items to it; null: any model. */
  models: string[] | null;
  used_at: number;
  update: ConversationUpdate | null;
}

const RECORD = "conversation";
const RETRY_MS = 60_000;

export class ConversationObject extends DurableObject<Bindings> {
  readonly #items = new Items(this.ctx.storage.sql);
  /** Undefined before the conversation is created, and after it is deleted. */
  #record = this.ctx.storage.kv.get<Record>(RECORD);

  async create(
    { user_id, maker, models }: Participant,
    { account_object, metadata }: { account_object: string; metadata: Metadata },
    items: ItemJson[],
  ): Promise<Head> {
    const now = Date.now();
    this.#items.create();
    this.#items.add(items);
    const kept = { user_id, maker, account_object, models, metadata };
    this.#save({ ...kept, created_at: now, used_at: now, update: null });
    await this.ctx.storage.setAlarm(now + this.#keptMs);
    return { metadata, created_at: now };
  }

  head(participant: Participant): Head | Refused {
    const record = this.#recordFor(participant);
    if ("refused" in record) return record;
    const { metadata, created_at } = record;
    return { metadata, created_at };
  }

  setMetadata(participant: Participant, metadata: Metadata): Head | Refused {
    const record = this.#recordFor(participant);
    if ("refused" in record) return record;
    this.#save({ ...record, metadata });
    return { metadata, created_at: record.created_at };
  }

  // ---- responses

  /** Begins a response, which is given all earlier items. */
  begin(participant: Participant, prediction_id: string, maxBytes: number): Begun {
    const record = this.#recordFor(participant);
    if ("refused" in record) return record;
    if (record.update) return { busy: record.update };
    const said = this.#said(maxBytes);
    if (typeof said === "string") return said;
    const now = Date.now();
    this.#save({
      ...record,
      models: modelsWith(record, participant),
      used_at: now,
      update: { prediction_id, given: this.#items.size.count, began_at: now },
    });
    return said;
  }

  /** The response that is under way, as far as is known. */
  update(participant: Participant): ConversationUpdate | null | Refused {
    const record = this.#recordFor(participant);
    return "refused" in record ? record : record.update;
  }

  /**
   * Adds items of a response, and ends it with the last of them. Once it has ended this changes nothing. A
   * caller that breaks off is followed by another, which adds the same items by the same ids.
   */
  settle(predictionId: string, items: ItemJson[], isLast: boolean): void {
    const record = this.#record;
    if (record?.update?.prediction_id !== predictionId) return;
    this.#items.add(items);
    if (isLast) this.#save({ ...record, update: null });
  }

  // ---- items

  add(participant: Participant, items: ItemJson[]): Added | Refused {
    const record = this.#recordFor(participant);
    if ("refused" in record) return record;
    const duplicate = items.find(({ id }) => this.#items.has(id))?.id;
    if (duplicate !== undefined) return { duplicate };
    const { count, bytes } = this.#items.size;
    const added = items.reduce((sum, { json }) => sum + json.length, 0);
    if (count + items.length > MAX_ITEMS || bytes + added > MAX_BYTES) return "full";
    this.#items.add(items);
    this.#save({ ...record, models: modelsWith(record, participant), used_at: Date.now() });
    return "added";
  }

  all(participant: Participant, maxBytes: number): AllItems {
    const record = this.#recordFor(participant);
    return "refused" in record ? record : this.#said(maxBytes);
  }

  /** @returns undefined when there is no item `after` */
  page(
    participant: Participant,
    range: ItemsRange,
    maxBytes: number,
  ): ItemsPage | Large | undefined | Refused {
    const record = this.#recordFor(participant);
    return "refused" in record ? record : this.#items.page(range, maxBytes);
  }

  item(
    participant: Participant,
    id: string,
    maxBytes: number,
  ): ItemJson | Large | undefined | Refused {
    const record = this.#recordFor(participant);
    return "refused" in record ? record : this.#items.find(id, maxBytes);
  }

  /** @returns undefined when there is no such item */
  removeItem(participant: Participant, id: string): Head | undefined | Refused {
    const record = this.#recordFor(participant);
    if ("refused" in record) return record;
    return this.#items.remove(id) ? this.head(participant) : undefined;
  }

  // ---- the end of the conversation

  async remove(participant: Participant): Promise<true | Refused> {
    const record = this.#recordFor(participant);
    if ("refused" in record) return record;
    await this.#end(record);
    return true;
  }

  /** Deletes everything. An account that is closed calls it, and then forgets the conversation. */
  async discard(): Promise<void> {
    this.#record = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override async alarm(): Promise<void> {
    if (!this.#record) return;
    const due = this.#record.used_at + this.#keptMs;
    if (due > Date.now()) return this.ctx.storage.setAlarm(due);
    try {
      await this.#end(this.#record);
    } catch {
      // The platform gives up on an alarm that throws six times.
      await this.ctx.storage.setAlarm(Date.now() + RETRY_MS);
    }
  }

  /**
   * Removes the conversation from its account first: an account deletes only the conversations that it knows.
   */
  async #end({ account_object }: Record): Promise<void> {
    const { id } = this.ctx;
    await accountAt(this.env, account_object).removeConversation(id.toString());
    await this.discard();
  }

  #said(maxBytes: number): Exclude<AllItems, Refused> {
    const { count, bytes } = this.#items.size;
    // The last item may make a conversation longer than a request may be.
    if (count > MAX_ITEMS || bytes > MAX_BYTES) return "too long";
    if (bytes > maxBytes) return "large";
    const decoder = new TextDecoder();
    const texts = this.#items.all().map(({ json }) => decoder.decode(json));
    return { items: `[${texts.join()}]` };
  }

  get #keptMs(): number {
    return settings(this.env).retentionSeconds * 1_000;
  }

  #recordFor(participant: Participant): Record | Refused {
    const access = this.#record ? accessToConversation(participant, this.#record) : "hidden";
    if (access !== "granted") return { refused: access };
    return this.#record ?? { refused: "hidden" };
  }

  #save(record: Record): void {
    this.#record = record;
    this.ctx.storage.kv.put(RECORD, record);
  }
}

/** Returns the models of the items: a participant's items may be of any model that its token covers. */
const modelsWith = ({ models }: Record, participant: Participant): string[] | null =>
  models && participant.models && [...new Set([...models, ...participant.models])];

type Row = { position: number; id: string; bytes: number; text: string | null };

/** The items of a conversation, in order. A row may have 2 MB: the text of a large item is in pieces. */
export class Items {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  create(): void {
    this.#sql.exec(CREATE);
  }

  get size(): { count: number; bytes: number } {
    return this.#sql
      .exec<{ count: number; bytes: number }>(
        "SELECT COUNT(*) AS count, COALESCE(SUM(bytes), 0) AS bytes FROM items",
      )
      .one();
  }

  /** Adds items at the end. An item whose id is there already is left out: it was added before. */
  add(items: ItemJson[]): void {
    for (const { id, json } of items) {
      const isLarge = json.length > PIECE;
      const [added] = this.#sql
        .exec<Pick<Row, "position">>(
          "INSERT OR IGNORE INTO items (id, bytes, text) VALUES (?, ?, ?) RETURNING position",
          id,
          json.length,
          isLarge ? null : decoder.decode(json),
        )
        .toArray();
      if (!added || !isLarge) continue;
      for (let n = 0; n * PIECE < json.length; n++) {
        const content = json.slice(n * PIECE, (n + 1) * PIECE);
        const { position } = added;
        this.#sql.exec("INSERT INTO pieces VALUES (?, ?, ?)", position, n, content.buffer);
      }
    }
  }

  all(): ItemJson[] {
    return this.#read("SELECT position, id, text FROM items ORDER BY position");
  }

  has(id: string): boolean {
    return this.#positionOf(id) !== undefined;
  }

  find(id: string, maxBytes: number): ItemJson | Large | undefined {
    const [found] = this.#sql
      .exec<Pick<Row, "bytes">>("SELECT bytes FROM items WHERE id = ?", id)
      .toArray();
    if (found && found.bytes > maxBytes) return "large";
    return this.#read("SELECT position, id, text FROM items WHERE id = ?", id)[0];
  }

  /**
   * Returns the next items, fewer than the limit if they are large.
   * @returns undefined when there is no item `after`
   */
  page({ after, order, limit }: ItemsRange, maxBytes: number): ItemsPage | Large | undefined {
    const from = after === undefined ? undefined : this.#positionOf(after);
    if (after !== undefined && from === undefined) return undefined;
    const [sign, direction, edge] =
      order === "asc" ? [">", "ASC", -1] : ["<", "DESC", Number.MAX_SAFE_INTEGER];
    const range = `FROM items WHERE position ${sign} ? ORDER BY position ${direction} LIMIT ?`;
    const found = this.#sql
      .exec<Pick<Row, "bytes">>(`SELECT bytes ${range}`, from ?? edge, limit + 1)
      .toArray();
    let [taken, bytes] = [0, 0];
    for (const one of found.slice(0, limit)) {
      if (taken > 0 && bytes + one.bytes > MAX_BYTES) break;
      bytes += one.bytes;
      taken++;
    }
    if (bytes > maxBytes) return "large";
    const items = this.#read(`SELECT position, id, text ${range}`, from ?? edge, taken);
    return { items, has_more: found.length > taken };
  }

  /** @returns false when there is no such item */
  remove(id: string): boolean {
    const position = this.#positionOf(id);
    if (position === undefined) return false;
    this.#sql.exec("DELETE FROM pieces WHERE position = ?", position);
    this.#sql.exec("DELETE FROM items WHERE position = ?", position);
    return true;
  }

  #positionOf(id: string): number | undefined {
    return this.#sql
      .exec<Pick<Row, "position">>("SELECT position FROM items WHERE id = ?", id)
      .toArray()[0]?.position;
  }

  #read(query: string, ...bindings: SqlStorageValue[]): ItemJson[] {
    return this.#sql
      .exec<Omit<Row, "bytes">>(query, ...bindings)
      .toArray()
      .map(({ position, id, text }) => ({
        id,
        json: text === null ? this.#joined(position) : encoder.encode(text),
      }));
  }

  #joined(position: number): Uint8Array {
    const pieces = this.#sql
      .exec<{ content: ArrayBuffer }>(
        "SELECT content FROM pieces WHERE position = ? ORDER BY piece",
        position,
      )
      .toArray();
    const whole = new Uint8Array(pieces.reduce((sum, { content }) => sum + content.byteLength, 0));
    let end = 0;
    for (const { content } of pieces) {
      whole.set(new Uint8Array(content), end);
      end += content.byteLength;
    }
    return whole;
  }
}
