/** An alert that holds, which no sweep has begun. */
import { env } from "cloudflare:workers";

/** @returns its id, which is also its subject */
export async function newAlert(since = Date.now() - 600_000): Promise<string> {
  const id = crypto.randomUUID();
  await env.DB.prepare(
    `INSERT INTO alerts (id, rule, subject, name, level, text, since)
    VALUES (?1, 'runner_lost', ?1, 'rack-1', 'bad', 'Offline.', ?2)`,
  )
    .bind(id, since)
    .run();
  return id;
}
