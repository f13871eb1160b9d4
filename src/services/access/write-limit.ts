/**
 * Limits the writes of an account to D1 and R2. A request charges the account's bucket with the most that it
 * may write, before it writes, and corrects the charge afterwards. Calls are counted by the rate limits.
 */
import { waitUntil } from "cloudflare:workers";
import type { WriteCost } from "../../domain/accounts/write-bucket.ts";
import { withBindings } from "../../env.ts";
import { ProblemError } from "../../errors/errors.ts";
import { whenClientLeaves } from "../../lib/current-request.ts";
import { logger } from "../../log.ts";
import { accountAt } from "../../objects/stubs/account.ts";
import { database } from "../../storage/database.ts";
import { meteredBucket, meteredDatabase, type WriteMeter } from "../../storage/write-meter.ts";
import type { Services } from "../services.ts";
import { openAccount } from "./accounts.ts";

/** The step in which a long body is charged, beyond the cost that its route declares. */
const STEP: WriteCost = { rows: 100, bytes: 64 * 1024 * 1024 };

type Charge = (cost: WriteCost) => Promise<void>;

/**
 * @param cost the most that the task writes, except for bodies of unknown length
 * @param task gets services that count what it writes
 * @throws ProblemError too_many_requests
 */
export async function withinWriteLimit<Result>(
  services: Services,
  userId: string,
  cost: WriteCost,
  task: (services: Services) => Promise<Result>,
): Promise<Result> {
  if (!services.settings.rateLimits) return task(services);
  if (meters.has(services)) {
    await chargeRows(services, cost.rows);
    return task(services);
  }
  const account = accountAt(services.env, await openAccount(services, userId));
  const charge: Charge = async (more) => {
    const waitMs = await account.chargeWrites(userId, more);
    if (waitMs > 0) throw tooMuch(waitMs);
  };
  await charge(cost);
  const meter = new Meter(cost, charge);
  let isSettled = false;
  const settle = async () => {
    if (isSettled) return;
    isSettled = true;
    const { difference } = meter;
    if (difference.rows === 0 && difference.bytes === 0) return;
    await account.settleWrites(difference).catch((error) => {
      logger.warn("Charge for writes not corrected", { user_id: userId, error });
    });
  };
  // A body that breaks off was charged with its whole length, which `settle` corrects.
  whenClientLeaves(settle);
  try {
    return await task(meteredServices(services, meter));
  } finally {
    waitUntil(settle());
  }
}

const meters = new WeakMap<Services, Meter>();

/**
 * Charges for rows that are about to be written beyond those of the route. Free where writes are not limited.
 * @throws ProblemError too_many_requests
 */
export async function chargeRows(services: Services, rows: number): Promise<void> {
  await meters.get(services)?.chargeMore({ rows, bytes: 0 });
}

function meteredServices(services: Services, meter: Meter): Services {
  const { DB, FILES, IMAGES } = services.env;
  const env = withBindings(services.env, {
    DB: meteredDatabase(DB, meter),
    FILES: meteredBucket(FILES, meter),
    IMAGES: meteredBucket(IMAGES, meter),
  });
  const metered = { ...services, env, db: database(env.DB) };
  meters.set(metered, meter);
  return metered;
}

class Meter implements WriteMeter {
  readonly #body: number;
  readonly #charge: Charge;
  #charged: WriteCost;
  #rows = 0;
  #bytes = 0;
  /**
   * Whether the request's body was counted. A request has one body, even if it sends more than that to R2.
   */
  #hasSentBody = false;

  constructor(cost: WriteCost, charge: Charge) {
    this.#body = cost.bytes;
    this.#charged = cost;
    this.#charge = charge;
  }

  get difference(): WriteCost {
    return { rows: this.#rows - this.#charged.rows, bytes: this.#bytes - this.#charged.bytes };
  }

  wrote(rows: number): void {
    this.#rows += rows;
  }

  async sending(bytes: number | undefined): Promise<void> {
    const sent = bytes ?? (this.#hasSentBody ? 0 : this.#body);
    if (bytes === undefined) this.#hasSentBody = true;
    const missing = {
      rows: this.#rows - this.#charged.rows,
      bytes: this.#bytes + sent - this.#charged.bytes,
    };
    if (missing.rows > 0 || missing.bytes > 0) {
      await this.chargeMore({
        rows: missing.rows > 0 ? Math.max(missing.rows, STEP.rows) : 0,
        bytes: missing.bytes > 0 ? Math.max(missing.bytes, STEP.bytes) : 0,
      });
    }
    this.#bytes += sent;
  }

  async chargeMore(more: WriteCost): Promise<void> {
    await this.#charge(more);
    const { rows, bytes } = this.#charged;
    this.#charged = { rows: rows + more.rows, bytes: bytes + more.bytes };
  }
}

function tooMuch(waitMs: number): ProblemError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new ProblemError(
    "too_many_requests",
    `This account has reached its write limit. Wait ${seconds} seconds, then send changes less often. The operator can raise WRITE_ROWS and WRITE_MB.`,
    { "retry-after": String(seconds) },
  );
}
