/**
 * The capacity claims of a pool. The service tells all of them again every minute and after each change, so that
 * none is lost and none outlives its deployment; what it tells is stored as text, in rows of a megabyte.
 */
import { z } from "zod";
import type { Container } from "../../domain/scheduling/decide/box.ts";
import { queueKeyOf } from "../../domain/scheduling/decide/line.ts";
import type { PoolState } from "../../domain/scheduling/decide/pool-state.ts";
import type { Claim } from "../../domain/scheduling/decide/types.ts";
import { parseJson } from "../../lib/json.ts";
import {
  type CapacityClaim,
  type CapacityClaimStatus,
  type ClaimPreview,
  capacityClaim,
} from "../stubs/pool.ts";
import type { ContainerNames } from "./containers.ts";

/** Claims are kept for so long if the service cannot tell them, such as while D1 fails. */
const LAPSE_MS = 3_600_000;

/** A row has 2 MB at most, which the claims of a few thousand deployments exceed. */
const ROW_CHARS = 1_000_000;

interface Row extends Record<string, SqlStorageValue> {
  claims: string;
}

/** A claim that is not made yet. */
export interface AskedClaim
  extends Pick<CapacityClaim, "deployment_id" | "hardware" | "gpus" | "container_key" | "min"> {
  /** The release that runs while that of the claim starts. Null: none. */
  running: number | null;
}

const queueKeyOfClaim = ({ hardware, container_key: key }: CapacityClaim): string =>
  queueKeyOf({ hardware, key });

export class CapacityClaims {
  readonly #state: PoolState;
  readonly #sql: SqlStorage;
  #claims: readonly CapacityClaim[] = [];
  #lapse: number | null = null;

  constructor(state: PoolState, sql: SqlStorage) {
    this.#state = state;
    this.#sql = sql;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS capacity_claims (id INTEGER PRIMARY KEY, claims TEXT NOT NULL)",
    );
    const rows = sql.exec<Row>("SELECT claims FROM capacity_claims ORDER BY id").toArray();
    // Rows that cannot be read do not keep the pool from starting: the service tells the claims again.
    const text = rows.map(({ claims }) => claims).join("");
    const stored = z.array(capacityClaim).safeParse(parseJson(text));
    if (stored.success) this.#use(stored.data);
  }

  /** Replaces all claims. */
  set(claims: readonly CapacityClaim[]): CapacityClaimStatus[] {
    const text = JSON.stringify(claims);
    if (text !== JSON.stringify(this.#claims)) this.#store(text);
    this.#use(claims);
    return claims.map((claim) => this.#statusOf(claim));
  }

  /** Returns the state of an account's claims. */
  statusesOf(ownerId: string): CapacityClaimStatus[] {
    const own = this.#claims.filter(({ owner_id }) => owner_id === ownerId);
    return own.map((claim) => this.#statusOf(claim));
  }

  #store(text: string): void {
    this.#sql.exec("DELETE FROM capacity_claims");
    for (let at = 0, id = 1; at < text.length; at += ROW_CHARS, id++)
      this.#sql.exec(
        "INSERT INTO capacity_claims (id, claims) VALUES (?, ?)",
        ...[id, text.slice(at, at + ROW_CHARS)],
      );
  }

  /** Names of the containers that a runner has reported and claims hold. */
  keptBy(runnerId: string): string[] {
    const box = this.#state.fleet.boxes.get(runnerId);
    if (!box || this.#claims.length === 0) return [];
    const planned = new Set<string>();
    for (const { starts, container } of box.handouts.values()) if (starts) planned.add(container);
    return [...box.containers.values()].flatMap(({ id, claimed }) =>
      claimed && !planned.has(id) ? [id] : [],
    );
  }

  /**
   * Says what a claim takes from others: of the containers that no claim holds, those with the lowest eviction
   * scores, on the boxes of the class, as many as it needs beside free GPUs and the containers of its own key. The
   * claims of its deployment end, but for that of the release that runs.
   */
  preview(asked: AskedClaim, names: ContainerNames, now: number): ClaimPreview {
    const { deployment_id, running } = asked;
    const others = this.#claims.filter((claim) => claim.deployment_id !== deployment_id);
    const isBeside = (claim: CapacityClaim) =>
      claim.deployment_id === deployment_id && claim.release === running;
    const most = this.#withClaims(others, () => this.#roomFor(asked).capacity);
    const claims = [...others, ...this.#claims.filter(isBeside)];
    return this.#withClaims(claims, () => ({ most, ...this.#displacing(asked, names, now) }));
  }

  /** Looks at the pool as if it had these claims only. */
  #withClaims<T>(claims: readonly CapacityClaim[], look: () => T): T {
    const { fleet } = this.#state;
    fleet.setClaims(mergedByKey(claims));
    try {
      return look();
    } finally {
      fleet.setClaims(mergedByKey(this.#claims));
    }
  }

  #roomFor({ hardware, gpus, container_key: key }: AskedClaim) {
    const { fleet } = this.#state;
    const own = fleet.containersOf(queueKeyOf({ hardware, key }));
    const boxes = [...fleet.boxes.values()].filter((box) => box.takes && box.serves(hardware));
    const ownClaimed = [...own].filter(({ claimed }) => claimed).length;
    return {
      own,
      boxes,
      capacity: boxes.reduce((sum, box) => sum + box.capacity(gpus), ownClaimed),
    };
  }

  #displacing(asked: AskedClaim, names: ContainerNames, now: number): Omit<ClaimPreview, "most"> {
    const { deployment_id, gpus, min, container_key: key } = asked;
    const { evictionScores, estimates } = this.#state;
    const { own, boxes, capacity } = this.#roomFor(asked);
    const keys = this.#claims.flatMap((claim) =>
      claim.deployment_id === deployment_id ? [queueKeyOfClaim(claim)] : [],
    );
    const free = boxes.reduce((sum, box) => sum + box.startable(gpus), 0);
    const others = boxes
      .flatMap((box) => [...box.containers.values()])
      .filter((one) => !one.claimed && one.phase !== "stopping" && !own.has(one))
      .map((one) => ({ one, score: evictionScores.of(one, now) }))
      .toSorted((a, b) => a.one.users - b.one.users || a.score - b.score);
    let needed = Math.max(0, min - own.size - free) * Math.max(1, gpus);
    const stopped: Container[] = [];
    for (const { one } of others) {
      if (needed <= 0) break;
      needed -= Math.max(1, one.gpus);
      stopped.push(one);
    }
    const foreign = stopped.filter(({ queueKey }) => !keys.includes(queueKey));
    const models = foreign.map((one) => {
      const name = names.find(one.key);
      return name?.model?.name.replace(/:.*/, "") ?? name?.image ?? "an unknown model";
    });
    return {
      runners: boxes.length,
      capacity,
      displaces: [...Map.groupBy(models, (model) => model)].map(([model, all]) => ({
        model,
        containers: all.length,
      })),
      setup_ms: estimates.measuredOf(key).setup_ms ?? null,
    };
  }

  #use(claims: readonly CapacityClaim[]): void {
    this.#claims = claims;
    this.#state.fleet.setClaims(mergedByKey(claims));
    clearTimeout(this.#lapse);
    this.#lapse = claims.length > 0 ? setTimeout(() => this.set([]), LAPSE_MS) : null;
  }

  #statusOf(claim: CapacityClaim): CapacityClaimStatus {
    const { fleet, line } = this.#state;
    const queueKey = queueKeyOfClaim(claim);
    const held = [...fleet.containersOf(queueKey)].filter(({ claimed }) => claimed);
    const ready = held.filter(({ phase }) => phase === "ready").length;
    const waiting = [...line.warmUps].filter((job) => job.queueKey === queueKey).length;
    return {
      deployment_id: claim.deployment_id,
      release: claim.release,
      container_key: claim.container_key,
      ready,
      starting: held.length - ready,
      waiting,
      missing: Math.max(0, fleet.lacking(queueKey) - waiting),
    };
  }
}

/** Merges claims of one key: two releases of a deployment may need the same containers. */
const mergedByKey = (claims: readonly CapacityClaim[]): Claim[] =>
  [...Map.groupBy(claims, queueKeyOfClaim).values()].map(merged);

/** @param claims of one key */
function merged(claims: CapacityClaim[]): Claim {
  const [first] = claims;
  if (!first) throw new Error("no claim");
  const { owner_id: account, hardware, gpus, container_key: key } = first;
  const mosts = claims.map(({ max }) => max ?? Number.POSITIVE_INFINITY);
  const max = Math.max(...mosts);
  return {
    ...{ account, hardware, gpus, key },
    min: Math.max(...claims.map(({ min }) => min)),
    max: Number.isFinite(max) ? max : null,
  };
}
