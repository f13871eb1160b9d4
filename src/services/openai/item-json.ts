/** Items in the form in which a conversation's object takes and returns them. */

import { itemIdOf } from "../../domain/openai/conversation.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { fieldsOf } from "../../lib/fields.ts";
import type { ItemJson } from "../../objects/conversation/rpc-types.ts";
import type { ResponseItem } from "../../protocol/openai/response.ts";

/**
 * The part of a message's 32 MiB that items may fill. One item has 30 MB at most: 10,000,000 characters of an
 * input, or 16 MiB of an output.
 */
const BATCH_BYTES = 16 * 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param name as in itemIdOf */
export const jsonOf = (item: ResponseItem, name?: string): ItemJson => ({
  id: itemIdOf(item, name),
  json: encoder.encode(exactText(item)),
});

/** Returns an item as it was sent, with its id. Its size was checked when it was sent. */
export const itemIn = ({ id, json }: ItemJson): ResponseItem => ({
  ...fieldsOf(parseExact(decoder.decode(json))),
  id,
});

export const bytesOf = (items: ItemJson[]) => items.reduce((sum, { json }) => sum + json.length, 0);

/** Splits items into batches that each fit a message, of at least one item. */
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
