/** Accounts that are far away from predictions and runners. */
import { expect, onTestFinished } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { eventually, pause } from "./eventually.ts";
import { accountOf, inAccount } from "./objects.ts";
import { newWorld, type World, type WorldOptions } from "./world.ts";

/** Methods that are not counted as calls: an alarm starts in the object itself. */
export const NO_CALLS = ["constructor", "alarm"];

export interface Call {
  /** The ID of the object that is called. */
  object: string;
  method: string;
  arrived: boolean;
}

/** Records each call of an account's object, until the test ends. */
export function watchAccounts() {
  const calls: Call[] = [];
  const far = new Set<string>();
  const { prototype } = AccountObject;
  const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(
    ([name, { value }]) => typeof value === "function" && !NO_CALLS.includes(name),
  );
  for (const [method, descriptor] of methods) {
    Object.defineProperty(prototype, method, {
      ...descriptor,
      async value(this: AccountObject, ...args: unknown[]) {
        const object = String(Reflect.get(this, "ctx").id);
        const call = { object, method, arrived: !far.has(object) };
        calls.push(call);
        // Code in an object cannot wait for a promise that is resolved elsewhere, so the call polls.
        while (!call.arrived) await pause(2);
        return Reflect.apply(descriptor.value, this, args);
      },
    });
  }
  const arriveAll = () => {
    far.clear();
    for (const call of calls) call.arrived = true;
  };
  onTestFinished(() => {
    arriveAll();
    for (const [method, descriptor] of methods)
      Object.defineProperty(prototype, method, descriptor);
  });
  return {
    /** Moves the object of an account far away. */
    async moveAway(userId: string): Promise<void> {
      far.add(await objectIdOf(userId));
    },
    /** The methods of an account's object that have been called, whether the calls have arrived or not. */
    async callsOf(userId: string): Promise<string[]> {
      const id = await objectIdOf(userId);
      return calls.filter(({ object }) => object === id).map(({ method }) => method);
    },
    /** Lets one of the calls under way arrive. */
    arrive(nth: number): void {
      const call = calls.filter(({ arrived }) => !arrived)[nth];
      if (!call) throw new Error("it is not under way");
      call.arrived = true;
    },
    /** Lets all calls arrive: those under way, and all later ones. */
    arriveAll,
  };
}

export async function objectIdOf(userId: string): Promise<string> {
  const account = await accountOf(userId);
  if (!account) throw new Error("the account has no object");
  return account.id.toString();
}

export const countedOf = async (userId: string) => {
  const [sum] = await inAccount<{ n: number }>(
    userId,
    "SELECT coalesce(sum(predictions), 0) AS n FROM usage",
  );
  return sum?.n;
};

/** An account that has an object and one prediction, which has ended. */
export async function knownWorld(options?: WorldOptions): Promise<World> {
  const world = await newWorld(options);
  await world.client.cancel(await world.waiting());
  await eventually(async () => expect(await countedOf(world.user_id)).toBe(1));
  return world;
}
