/** The limits of an access token, beside its scopes, models and expiry. */
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { absentIfNull, orNull } from "./common.ts";

/** Groups of endpoints that a token can be limited to. */
export const ENDPOINTS = [
  "predictions",
  "openai",
  "anthropic",
  "replicate",
  "files",
  "models",
  "registry",
] as const;
export type Endpoints = (typeof ENDPOINTS)[number];

const MAX_LISTED = 20;

const perMinute = (what: string) =>
  absentIfNull(z.int().min(1).max(1_000_000)).meta({
    description: `${what} per minute. Approximate: each part of the service counts by itself, so bursts can exceed it`,
  });

/** Whether a text is an origin as browsers send it. */
const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

const isNetwork = (text: string): boolean =>
  ipaddr.IPv4.isValidCIDRFourPartDecimal(text) ||
  (ipaddr.IPv6.isValidCIDR(text) && !text.includes("%"));

export const webOrigin = z
  .string()
  .max(200)
  .refine(isOrigin, "Use a scheme and a host without a path, such as https://app.example.com");

/** Strict: ignoring a misspelt limit would leave the token unlimited. */
export const tokenLimits = z
  .strictObject({
    requests_per_minute: perMinute("Requests of any kind"),
    predictions_per_minute: perMinute("Predictions"),
    max_running: absentIfNull(z.int().min(1).max(100_000)).meta({
      description: "Predictions that are queued or running at a time",
    }),
    endpoints: absentIfNull(z.array(z.enum(ENDPOINTS)).min(1).max(ENDPOINTS.length)).meta({
      description:
        "Groups of endpoints that the token can call. `predictions`: `/v1/predictions`, and those below models. `openai`, `anthropic` and `replicate`: the APIs of these names. `files`: `/v1/files` and `/v1/uploads`. `models`: `/v1/models`, `/v1/search`, `/v1/hardware` and `/v1/model_categories`. `registry`: pushing and pulling images. By default, all endpoints",
    }),
    origins: absentIfNull(z.array(webOrigin).min(1).max(MAX_LISTED)).meta({
      description:
        "Origins of the web pages that can use the token. Requests must come from a browser, which sends the header `Origin`",
      example: ["https://app.example.com"],
    }),
    networks: absentIfNull(
      z
        .array(
          z
            .string()
            .max(50)
            .refine(
              isNetwork,
              "Use a network such as 203.0.113.0/24 or 2001:db8::/32; 203.0.113.7/32 is one address",
            ),
        )
        .min(1)
        .max(MAX_LISTED),
    ).meta({
      description: "Networks that the token can be used from, in CIDR notation",
      example: ["203.0.113.0/24"],
    }),
  })
  .meta({ id: "TokenLimits" });
export type TokenLimits = z.infer<typeof tokenLimits>;

export const updateToken = z
  .strictObject({
    limits: orNull(tokenLimits).meta({
      description: "Replaces all limits of the token. Null removes them",
    }),
  })
  .meta({ id: "UpdateToken", example: { limits: { requests_per_minute: 60 } } });
