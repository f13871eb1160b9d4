/** Cuts a stream into pieces that lie in files: each can be sent again, and none is in memory. */
import { mkdtemp, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Content, fileContent } from "../registry/content.ts";

export interface Piece {
  content: Content;
  remove(): Promise<void>;
}

/** @param folder where files are made; each is the consumer's to remove */
export async function* piecesOf(
  body: AsyncIterable<Buffer>,
  pieceBytes: number,
  folder: string,
): AsyncGenerator<Piece> {
  let draft: Draft | undefined;
  try {
    for await (const chunk of body) {
      for (let rest = chunk; rest.length > 0; ) {
        draft ??= await Draft.open(folder);
        const part = rest.subarray(0, pieceBytes - draft.size);
        rest = rest.subarray(part.length);
        await draft.write(part);
        if (draft.size < pieceBytes) continue;
        const full = draft;
        draft = undefined;
        yield await full.piece();
      }
    }
    const last = draft;
    draft = undefined;
    if (last) yield await last.piece();
  } finally {
    await draft?.remove();
  }
}

class Draft {
  size = 0;
  readonly #folder: string;
  readonly #file: Awaited<ReturnType<typeof open>>;

  static async open(folder: string): Promise<Draft> {
    const own = await mkdtemp(join(folder, "piece-"));
    return new Draft(own, await open(join(own, "bytes"), "wx", 0o600));
  }

  private constructor(folder: string, file: Awaited<ReturnType<typeof open>>) {
    this.#folder = folder;
    this.#file = file;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.#file.write(bytes);
    this.size += bytes.length;
  }

  async piece(): Promise<Piece> {
    await this.#file.close();
    const content = await fileContent(join(this.#folder, "bytes"));
    return { content, remove: () => this.#remove() };
  }

  async remove(): Promise<void> {
    await this.#file.close();
    await this.#remove();
  }

  async #remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
