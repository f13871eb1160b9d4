/**
 * /v2: the image registry, OCI distribution 1.1. Repositories are models: docker, podman and similar clients
 * push to {host}/{owner}/{model}, and pull from there.
 */
import { Hono } from "hono";
import type { AppEnv } from "../../context.ts";
import {
  credentialOf,
  hasCredential,
  notLoggedIn,
  registryCaller,
} from "../../middleware/registry.ts";
import { ANONYMOUS_TOKEN, type RegistryToken } from "../../protocol/registry.ts";
import { registryBlobRoutes, registryUploadRoutes } from "./blobs.ts";
import { registryManifestRoutes } from "./manifests.ts";

/**
 * The lifetime of a token. It is the password itself, and a revoked one is refused at once: clients may ask
 * again at any time.
 */
const TOKEN_SECONDS = 3_600;

export const registryRoutes = new Hono<AppEnv>()
  .use("/v2/*", registryCaller)
  .get("/v2", (c) => c.redirect("/v2/", 308))
  .get("/v2/", (c) => {
    if (!hasCredential(c)) throw notLoggedIn();
    c.header("docker-distribution-api-version", "registry/2.0");
    return c.json({}, 200);
  })
  .get("/v2/token", (c) => {
    const token = credentialOf(c) ?? ANONYMOUS_TOKEN;
    const issued_at = new Date().toISOString();
    const body: RegistryToken = {
      token,
      access_token: token,
      expires_in: TOKEN_SECONDS,
      issued_at,
    };
    return c.json(body, 200);
  })
  .route("/", registryUploadRoutes)
  .route("/", registryBlobRoutes)
  .route("/", registryManifestRoutes);
