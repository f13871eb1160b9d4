/** Items as a conversation's object takes them and has them. */

import { itemIdOf } from "../../domain/vendora/conversation.ts";
import { fieldsOf } from "../../domain/vendora/response-json.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import type { ItemJson } from "../../objects/conversation/rpc-types.ts";
import type { ResponseItem } from "../../protocol/vendora/response.ts";

/** Of a message's 32 MiB. One item has 30 MB at most: 10,000,000 characters of an input, or 16 MiB of an output. */
const BATCH_BYTES = 16 * 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param name as of itemIdOf */
export const jsonOf = (item: ResponseItem, name?: string): ItemJson => ({
  id: itemIdOf(item, name),
  json: encoder.encode(exactText(item)),
});

/** As it was sent, but for its id. It was bounded when it came. */
export const itemIn = ({ id, json }: ItemJson): ResponseItem => ({
  ...fieldsOf(parseExact(decoder.decode(json))),
  id,
});

export const bytesOf = (items: ItemJson[]) => items.reduce((sum, { json }) => sum + json.length, 0);

/** What a message may have each, at least one. */
export function batchesOf(items: ItemJson[]): ItemJson[][] {
  const batches: ItemJson[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    bytes += item.json.length;
    if (bytes > BATCH_BYTES) {
      batches.push([]);
      bytes = item.json.length;
    }
    batches.at(-1)?.push(item);
  }
  return batches;
}
