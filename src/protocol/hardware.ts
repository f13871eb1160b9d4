/** Hardware classes, and the pools that they stand in. */
import { z } from "zod";
import { slug, timestamp } from "./common.ts";
import { amount, decimalAmount } from "./money.ts";

/** Regions near which Cloudflare creates an object. Source: "Data location" of its Durable Objects. */
export const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "oc",
  "afr",
  "me",
] as const;
const locationHint = z.enum(LOCATION_HINTS);
export type LocationHint = z.infer<typeof locationHint>;

const machine = z.object({
  name: z.string().min(1).max(100),
  gpus: z.int().min(0).max(1_000),
  cpus: z.int().min(1).max(10_000),
  ram_per_gpu_gb: z.number().min(0),
  ram_gb: z.number().min(0),
});
const { gpus, cpus, ram_per_gpu_gb, ram_gb } = machine.shape;

/** The class of models and versions that do not set it. */
export const DEFAULT_HARDWARE = "cpu";

export const hardware = machine
  .extend({
    identifier: slug,
    pool: slug.meta({
      description: "Classes in a pool share a queue and machines, such as 1-GPU and 4-GPU classes",
      example: "l40s",
    }),
    price_per_hour: decimalAmount.nullable().meta({
      description: "Price per hour, as decimal text; null if not set",
      example: "0.8",
    }),
    currency: z.string().meta({
      description: "Currency of the price (ISO 4217), the same for the whole deployment",
      example: "USD",
    }),
    location_hint: locationHint.nullable().meta({
      description: "Location of the pool's queue. Null: near the first runner or caller",
    }),
    created_at: timestamp,
  })
  .meta({ id: "Hardware" });
export type Hardware = z.infer<typeof hardware>;

export const putHardware = machine
  .extend({
    gpus: gpus.default(0),
    cpus: cpus.default(1),
    ram_per_gpu_gb: ram_per_gpu_gb.default(0),
    ram_gb: ram_gb.default(0),
    price_per_hour: amount.nullable().default(null),
    pool: slug.optional().meta({
      description:
        "Defaults to a pool of its own, with its name. Cannot be changed after first use. If omitted, it does not change",
    }),
    location_hint: locationHint.nullish().meta({
      description:
        "Location of the pool's queue: choose the one closest to the runners. Cannot be changed once the pool has been used. If omitted, it does not change",
    }),
  })
  .meta({
    id: "PutHardware",
    example: {
      name: "NVIDIA L40S",
      gpus: 1,
      cpus: 16,
      ram_per_gpu_gb: 48,
      ram_gb: 128,
      price_per_hour: 0.8,
      location_hint: "weur",
    },
  });
export type PutHardware = z.infer<typeof putHardware>;

export const hardwareSummary = z
  .object({ identifier: z.string(), name: z.string() })
  .meta({ id: "HardwareSummary" });
