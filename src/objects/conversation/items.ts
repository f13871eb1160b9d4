/** The items of a conversation, in order. A row may have 2 MB: the text of a large item is in pieces. */
import { MAX_BYTES } from "../../domain/openai/conversation.ts";
import type { ItemJson, ItemsPage, ItemsRange, Large } from "./rpc-types.ts";

const CREATE = `
CREATE TABLE IF NOT EXISTS items (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, text TEXT);
CREATE TABLE IF NOT EXISTS pieces (
  position INTEGER NOT NULL, piece INTEGER NOT NULL, content BLOB NOT NULL,
  PRIMARY KEY (position, piece)) WITHOUT ROWID;
`;

/** Bytes of a piece, in UTF-8. */
const PIECE = 1_000_000;

type Row = { position: number; id: string; bytes: number; text: string | null };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Items {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  create(): void {
    this.#sql.exec(CREATE);
  }

  /** The number of items, and their bytes. */
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
