/**
 * A process takes a seat of its runner. If another process is in the other one, it is succeeded: the two
 * are there together until the old one has finished its runs. Whom it cannot succeed it waits for, since
 * what a runner finds under its name when it starts alone it removes.
 */
import { randomUUID } from "node:crypto";
import { sleep } from "../../../src/lib/timeout.ts";
import { messageOf } from "../control-plane/error.ts";
import type { Log } from "../lib/log.ts";
import { otherSeat, type Seat } from "../lib/seat.ts";
import { Door, type Household } from "./door.ts";
import { lock, tryLock } from "./lock.ts";
import { type Predecessor, PredecessorLink } from "./predecessor.ts";
import { openSocketFolder, type SocketFolder } from "./socket-path.ts";

const AGAIN_MS = 200;
/** One that starts does not answer for so long. */
const STARTS_MS = 5_000;

export interface SeatOptions {
  /** What only one process at a time has the name of. */
  identity: string;
  /** The folder of this runner's state. */
  folder: string;
  /** What both processes must have been started with alike. */
  terms: string;
  log: Log;
  stop: AbortSignal;
}

export interface TakenSeat {
  seat: Seat;
  predecessor: Predecessor | undefined;
  /** Not needed by a process that ends. */
  leave(): Promise<void>;
  /** From now on another process may succeed this one. */
  open(household: Household): Promise<Door | undefined>;
}

/** @returns undefined when the signal was aborted first */
export async function takeSeat(options: SeatOptions): Promise<TakenSeat | undefined> {
  const { identity, folder, terms, log, stop } = options;
  // One process at a time looks who is there.
  const entrance = await lock(`${identity} entrance`, stop, () =>
    log.warn("another process of this runner is about to start, waiting for it"),
  );
  if (!entrance) return undefined;
  try {
    const taken = await anySeat(options);
    if (!taken) return undefined;
    const { number } = taken;
    const sockets = await openSocketFolder(folder).catch((error: unknown) => {
      const why =
        "no other process can take over from this one: its state folder cannot be used (--state)";
      log.warn(why, { error: messageOf(error) });
      return undefined;
    });
    const met = await meetOther(options, number, sockets);
    if (stop.aborted) return undefined;
    const predecessor = met instanceof PredecessorLink ? met : undefined;
    return {
      seat: { number, process: randomUUID(), isAlone: predecessor === undefined },
      predecessor,
      leave: () => taken.lock.release(),
      async open(household) {
        if (!sockets) return undefined;
        const door = new Door({ terms, log }, household);
        await door.open(sockets.path(number));
        return door;
      },
    };
  } finally {
    await entrance.release();
  }
}

const lockOf = (identity: string, number: 0 | 1) => `${identity} ${number}`;

async function anySeat({ identity, log, stop }: SeatOptions) {
  for (let tries = 0; !stop.aborted; tries++) {
    for (const number of [0, 1] as const) {
      const lock = await tryLock(lockOf(identity, number));
      if (lock) return { number, lock };
    }
    if (tries === 0)
      log.warn(
        "two processes of this runner are still there, waiting until the first has finished its runs",
      );
    await sleep(AGAIN_MS, stop);
  }
  return undefined;
}

/** @returns who is in the other seat; undefined once nobody is */
async function meetOther(
  { identity, terms, log, stop }: SeatOptions,
  number: 0 | 1,
  sockets: SocketFolder | undefined,
): Promise<Predecessor | undefined> {
  const other = otherSeat(number);
  const since = performance.now();
  let said: string | undefined;
  while (!stop.aborted) {
    const free = await tryLock(lockOf(identity, other));
    if (free) {
      await free.release();
      return undefined;
    }
    const met = sockets && (await PredecessorLink.meet(sockets.path(other), terms, stop));
    if (met instanceof PredecessorLink) return met;
    const why = met ?? "it does not answer";
    if (why !== said && (met !== undefined || performance.now() - since > STARTS_MS)) {
      said = why;
      log.warn(
        `another process of this runner is still there, and ${why}: waiting until it has ended. Stop it, or give this one its own --name`,
      );
    }
    await sleep(AGAIN_MS, stop);
  }
  return undefined;
}
