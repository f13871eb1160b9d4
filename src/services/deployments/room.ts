/** The room that the containers of a release need: what they displace, and how they replace those before. */
import { conflict } from "../../errors/errors.ts";
import type { Displaced } from "../../protocol/deployment.ts";
import type { ReleaseItemRow } from "../../storage/deployments/deployments.ts";
import { namesSeenBy } from "../../storage/models/targets.ts";
import { findHardware } from "../../storage/runners/hardware.ts";
import type { Room } from "../../storage/schema/deployments.ts";
import { maxConcurrencyOf } from "../predictions/prediction-spec.ts";
import { findMadePool } from "../runners/pools.ts";
import type { Services } from "../services.ts";
import { containerKeyOf } from "./claims.ts";
import type { Planned } from "./releases.ts";

export interface Plan {
  room: Room;
  /** Whether the release takes over without a start: it keeps no container running, or has those that run. */
  atOnce: boolean;
  displaces: Displaced[];
  pool: string | null;
}

export interface RoomOptions {
  /** Whether the release may stop the one that runs before it has started. */
  allow_downtime: boolean;
  /** Whether the release takes over at once, also without room. */
  isRollBack?: boolean;
}

/**
 * @param current the release that runs
 * @throws ProblemError conflict if the class has too little room, or if the release needs downtime that is not allowed
 */
export async function planRoom(
  services: Services,
  { id, owner_id }: { id: string; owner_id: string },
  { settings, target: { model, version } }: Planned,
  current: ReleaseItemRow | undefined,
  { allow_downtime, isRollBack = false }: RoomOptions,
): Promise<Plan> {
  const { min_instances: min, hardware_identifier: identifier } = settings;
  const { configuration } = version;
  const hardware = await findHardware(services.db, identifier);
  const pool = hardware?.pool ?? null;
  const isSame =
    current !== undefined &&
    current.model_id === settings.model_id &&
    current.version_number === settings.version_number &&
    current.hardware_identifier === identifier &&
    maxConcurrencyOf(configuration, current.max_concurrency) ===
      maxConcurrencyOf(configuration, settings.max_concurrency);
  const atOnce = isRollBack || min === 0 || isSame;
  const plan: Plan = { room: "beside", atOnce, displaces: [], pool };
  const stub = pool === null || min === 0 ? undefined : await findMadePool(services, pool);
  if (!stub || !hardware) return plan;
  const { gpus } = hardware;
  const container_key = await containerKeyOf(services, {
    ...{ deployment_id: id, owner_id, configuration, hardware: { identifier, gpus } },
    ...{ model_id: model.id, version_number: version.number },
    ...{ max_concurrency: settings.max_concurrency, variables: model.variables },
  });
  const preview = await stub.previewClaim({
    ...{ hardware: identifier, gpus, min, container_key },
    ...{ deployment_id: id, running: current?.number ?? null },
  });
  // Without runners nothing is known of the room.
  if (preview.runners === 0) return plan;
  const displaces = await named(services, owner_id, preview.displaces);
  if (preview.capacity >= min) return { ...plan, displaces };
  if (preview.most < min && !isRollBack)
    throw conflict(
      `The runners of '${identifier}' have room for ${preview.most} containers of this release beside those that other deployments claim, and min_instances is ${min}. Lower min_instances, or choose other hardware.`,
    );
  if (preview.capacity > 0) return { ...plan, room: "replace", displaces };
  if (allow_downtime) return { ...plan, room: "stop", displaces };
  const time =
    preview.setup_ms === null
      ? "for as long as the new container takes to start"
      : `for about ${Math.ceil(preview.setup_ms / 1_000)} s`;
  throw conflict(
    `'${identifier}' has no room for the new release beside the one that runs: its containers would have to stop first, and predictions wait ${time}. Repeat the request with allow_downtime=true to accept this.`,
  );
}

/** Replaces the names of models that the account does not see. */
async function named(
  { db }: Services,
  accountId: string,
  displaced: { model: string; containers: number }[],
): Promise<Displaced[]> {
  const seen = await namesSeenBy(db, accountId, new Set(displaced.map(({ model }) => model)));
  const byName = Map.groupBy(displaced, ({ model }) => (seen.has(model) ? model : null));
  return [...byName].map(([model, all]) => ({
    model,
    containers: all.reduce((sum, { containers }) => sum + containers, 0),
  }));
}
