/** The output of `npm start`. */
import type { Client } from "./client.ts";

const began = performance.now();

export const say = (text: string) => console.log(text);

export const farewell = () => say("\nStopping …");

/** Runs a model that generates text, and shows the text as it comes. */
export async function showStream(client: Client, model: string): Promise<void> {
  const body = { model, stream: true, input: { prompt: "Alice was", max_tokens: 40, seed: 7 } };
  say(`\n${model} says:\n`);
  let first = true;
  for await (const { event, data } of client.events("POST", "/predictions", { body })) {
    if (event === "output") {
      if (first) process.stdout.write("  Alice was");
      first = false;
      process.stdout.write(String(data).replaceAll("\n", "\n  "));
    }
    if (event === "error") throw new Error(`The prediction failed: ${JSON.stringify(data)}`);
  }
  say(`\n\nStarted and ran a model in ${((performance.now() - began) / 1000).toFixed(1)}s.`);
}

export function showEmpty({ url, operatorToken }: { url: string; operatorToken: string }): void {
  say(`
Auspex is running without users, models or runners. To restore a backup, run in another terminal:

  export AUSPEX_URL=${url}
  export OPERATOR_TOKEN=${operatorToken}
  npm run backup -- restore auspex-backup-{id}

Then log in at ${pagesOf(url)}

Press Ctrl-C to stop. Each start with --empty deletes all data.`);
}

/** Returns the address to log in at: passkeys are bound to a name. */
const pagesOf = (url: string) => url.replace("127.0.0.1", "localhost");

export function showUsage({
  url,
  token,
  username,
  login,
  docker,
}: {
  url: string;
  token: string;
  username: string;
  /** The login for the dashboard. */
  login: { email: string; password: string };
  docker: boolean;
}): void {
  const pages = pagesOf(url);
  const command = `npx --yes ${url}/auspex.tgz`;
  const own = docker
    ? `${command} init greeter --template node && ${command} publish greeter`
    : "npm start -- --docker   # runs your own models, in Docker";
  say(`
Dashboard  ${pages}  (${login.email}, password ${login.password})
Token      ${token}
Docs       ${pages}/docs

Run a model from another terminal:

  export AUSPEX_URL=${url} AUSPEX_TOKEN=${token}
  curl -s $AUSPEX_URL/v1/predictions -H "Authorization: Bearer $AUSPEX_TOKEN" \\
    -H 'Content-Type: application/json' -H 'Prefer: wait' \\
    -d '{"model": "${username}/text-generation", "input": {"prompt": "Alice was"}}'

Publish your own:  ${own}

The example models run as local processes, without isolation. Data is kept in .auspex/.
Press Ctrl-C to stop.`);
}
