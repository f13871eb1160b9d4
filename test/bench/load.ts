/** Requests of other accounts during a measurement: at a pace, bounded, and with their answers counted. */
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../../src/dev/client.ts";
import { seed } from "../../src/dev/seed.ts";
import { type Bed, noop } from "./bed.ts";

/** A load ends by itself after 10 s, and skips requests while 32 are unanswered. */
const MOST_S = 10;
const MOST_OPEN = 32;

export type Ask = (client: Client) => Promise<Response>;

/** A user, and counts of the service's answers. */
export interface Account {
  client: Client;
  asked: number;
  refused: number;
}

export interface Load {
  perSecond: number;
  /** The accounts, which call in turn. */
  from: Account[];
  call: Ask;
}

/** Makes accounts. Each has an account object, and a token in the service's cache. */
export async function newAccounts(bed: Bed, count: number): Promise<Account[]> {
  const accounts: Account[] = [];
  for (let n = 0; n < count; n++) {
    const { token } = await seed(bed.operator, `account-${n}`);
    const client = new Client(bed.deployment.url, token);
    await noop(client);
    accounts.push({ client, asked: 0, refused: 0 });
  }
  return accounts;
}

export async function ask(account: Account, call: Ask): Promise<void> {
  account.asked++;
  const response = await call(account.client);
  const text = await response.text();
  if (response.status === 429) account.refused++;
  else if (response.status >= 500) throw new Error(`answered ${response.status}: ${text}`);
}

/** Starts a load. @returns a function that ends it and waits for its answers */
export function startLoad({ perSecond, from, call }: Load): () => Promise<void> {
  const answers: Promise<void>[] = [];
  let open = 0;
  let stopped = false;
  const send = (account: Account) => {
    open++;
    const answer = ask(account, call).finally(() => open--);
    // The error is thrown when the load ends.
    answer.catch(() => {});
    answers.push(answer);
  };
  const sending = (async () => {
    const began = performance.now();
    for (let n = 0; n < MOST_S * perSecond && !stopped; n++) {
      const account = from[n % from.length];
      if (account && open < MOST_OPEN) send(account);
      await sleep(Math.max(0, began + ((n + 1) * 1000) / perSecond - performance.now()));
    }
  })();
  return async () => {
    stopped = true;
    await sending;
    await Promise.all(answers);
  };
}
