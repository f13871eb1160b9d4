/**
 * The bytes of predictions' objects in R2, by key: files stored in one request, large values and inputs.
 * Uploads are counted in D1 (storage/files/uploads.ts), and both together may have FILES_GB.
 */
import { database } from "../../storage/database.ts";
import { findFileBytes } from "../../storage/files/uploads.ts";

/** An object that is about to be stored. Its key begins with the id of its prediction. */
export interface NewFile {
  key: string;
  bytes: number;
  /** The most bytes that all files of the account may have, this one included. */
  maxBytes: number;
}

export class StoredFiles {
  readonly #sql: SqlStorage;
  readonly #db: D1Database;
  #total: number | undefined;
  /**
   * The bytes of uploads as D1 had them last, with those declared since. The number is too high once uploads
   * have been deleted.
   */
  #uploads: number | undefined;

  constructor(sql: SqlStorage, db: D1Database) {
    this.#sql = sql;
    this.#db = db;
  }

  get bytes(): number {
    this.#total ??= this.#sql
      .exec<{ bytes: number }>("SELECT coalesce(sum(bytes), 0) AS bytes FROM files")
      .one().bytes;
    return this.#total;
  }

  /**
   * Counts an object that is about to be stored, once for each key. D1 is read only when the object has
   * restarted, or before a refusal.
   * @returns undefined once it is counted; without room for it, the bytes that the account has already
   */
  async add(userId: string, { key, bytes, maxBytes }: NewFile): Promise<number | undefined> {
    const hasRoom = () => this.#allBytes + bytes <= maxBytes;
    if (this.#uploads === undefined || !hasRoom()) await this.#readUploads(userId);
    if (!hasRoom()) return this.#allBytes;
    this.remove(key);
    this.#total = this.bytes + bytes;
    this.#sql.exec("INSERT INTO files (key, bytes) VALUES (?, ?)", key, bytes);
    return undefined;
  }

  /** @returns the bytes of all others, for the check in D1 */
  declare(size: number): number {
    if (this.#uploads !== undefined) this.#uploads += size;
    return this.bytes;
  }

  remove(key: string): void {
    this.#remove("key = ?", key);
  }

  /** Removes everything of predictions whose ids are between these two. */
  removeOf(first: string, last = first): void {
    // `0` is the character after the slash.
    this.#remove("key > ? AND key < ?", `${first}/`, `${last}0`);
  }

  get #allBytes(): number {
    return this.bytes + (this.#uploads ?? 0);
  }

  /**
   * Reads the bytes of uploads. A run does not fail because D1 does not answer: uploads then count as they
   * were known.
   */
  async #readUploads(userId: string): Promise<void> {
    const read = await findFileBytes(database(this.#db), userId).catch(() => undefined);
    this.#uploads = read ?? this.#uploads;
  }

  #remove(where: string, ...keys: string[]): void {
    const removed = this.#sql
      .exec<{ bytes: number }>(`DELETE FROM files WHERE ${where} RETURNING bytes`, ...keys)
      .toArray();
    if (this.#total === undefined) return;
    this.#total -= removed.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
