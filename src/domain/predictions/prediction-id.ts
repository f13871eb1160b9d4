/**
 * Ids of predictions: UUIDv7, which sort by when they were made. The last 8 of their random bits (120 to
 * 127, the last two hex digits) are reserved for a shard of the account, always 0 today: an account that
 * outgrows one object can be spread over several later, and no row has to be moved. 66 random bits are
 * left, and 32 of those count up within a millisecond.
 */
import { v7 as uuid } from "uuid";

const DIGITS = 2;

export const newPredictionUuid = (shard = 0): string =>
  uuid().slice(0, -DIGITS) + shard.toString(16).padStart(DIGITS, "0");

export const shardOf = (id: string): number => Number.parseInt(id.slice(-DIGITS), 16);
