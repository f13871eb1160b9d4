/**
 * A runner has two seats, of which each process has one: while one is updated, the process before it
 * still has the other. What on disk belongs to a process has its seat's name.
 */
import { randomUUID } from "node:crypto";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

export interface Seat {
  number: 0 | 1;
  /** Whose it is: unlike the seat, no other process ever has that. */
  process: string;
  /** No process is in the other seat: what has its name was left behind. */
  isAlone: boolean;
}

/** Where nothing is ever handed on. */
export const ONLY_SEAT: Seat = { number: 0, process: randomUUID(), isAlone: true };

export const otherSeat = (number: 0 | 1): 0 | 1 => (number === 0 ? 1 : 0);

/** Whether what has the name of that seat was left by a process that has ended. */
export const isLeftIn = (seat: Pick<Seat, "number" | "isAlone">, number: number): boolean =>
  number === seat.number || seat.isAlone;

/** A folder of the process in this seat alone. */
export const seatFolder = (root: string, number: 0 | 1) => join(root, nameOf(number));

const nameOf = (number: 0 | 1) => `seat-${number}`;

/**
 * Of the folders of both seats, keeps one for this process: what the last process left in its own or, if
 * there is none, in the other one. Does nothing while that is in use.
 */
export async function takeFolder(
  root: string,
  { number, isAlone }: Pick<Seat, "number" | "isAlone">,
): Promise<void> {
  if (!isAlone) return;
  const names: string[] = await readdir(root).catch(() => []);
  const other = otherSeat(number);
  if (names.includes(nameOf(number)))
    await rm(seatFolder(root, other), { recursive: true, force: true });
  else if (names.includes(nameOf(other)))
    await rename(seatFolder(root, other), seatFolder(root, number));
}
