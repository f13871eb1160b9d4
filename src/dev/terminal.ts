/** The output of `npm start`. */
import type { Client } from "./client.ts";

const began = performance.now();

export const say = (text: string) => console.log(text);

export const farewell = () => say("\nStopping …");

/** Runs a model that generates text, and shows the text as it comes. */
export async function showStream(client: Client, model: string): Promise<void> {
  const body = { model, stream: true, input: { prompt: "Alice was", max_tokens: 80, seed: 7 } };
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
  say(
    `\n\n(from npm start to the end of the text: ${((performance.now() - began) / 1000).toFixed(1)} s)`,
  );
}

export function showEmpty({ url, operatorToken }: { url: string; operatorToken: string }): void {
  say(`
An empty Auspex is up: the control plane alone, without users, models and runners. In another
terminal, restore a backup into it:

  export AUSPEX_URL=${url}
  export OPERATOR_TOKEN=${operatorToken}
  npm run backup -- restore auspex-backup-{id}

Then look at it: ${pagesOf(url)}/set-up

Press Ctrl-C to stop. The next start with --empty begins with nothing again.`);
}

/** Returns the address to sign in at: passkeys are bound to a name. */
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
    ? `# a model of your own, in Docker (with Node 22.13 or newer): ${pages}/docs/publishing has more
  ${command} init greeter --template node
  ${command} publish greeter --wait
  ${command} run ${username}/greeter name=you`
    : `# a model of your own needs a runner with Docker: npm start -- --docker. How to go on
  # (with Node 22.13 or newer): ${pages}/docs/publishing
  ${command} init greeter --template node`;
  say(`
Auspex is up: the control plane in workerd, a runner with six example models${docker ? ", and one with Docker" : ""}. The
example models run as your own processes, without isolation: use this to try things out.

  dashboard  ${pages}   (${login.email}, password ${login.password})
  token      ${token}
  docs       ${pages}/docs

Paste these into another terminal:

  export AUSPEX_URL=${url}
  export AUSPEX_TOKEN=${token}

  # wait for the result
  curl -s $AUSPEX_URL/v1/predictions -H "Authorization: Bearer $AUSPEX_TOKEN" \\
    -H 'Content-Type: application/json' -H 'Prefer: wait' \\
    -d '{"model": "${username}/text-generation", "input": {"prompt": "Alice was"}}'

  # stream text
  curl -sN $AUSPEX_URL/v1/predictions -H "Authorization: Bearer $AUSPEX_TOKEN" \\
    -H 'Content-Type: application/json' \\
    -d '{"model": "${username}/text-generation", "input": {"prompt": "The Queen"}, "stream": true}'

  # make a picture: the output is its URL
  curl -s $AUSPEX_URL/v1/predictions -H "Authorization: Bearer $AUSPEX_TOKEN" \\
    -H 'Content-Type: application/json' -H 'Prefer: wait' \\
    -d '{"model": "${username}/image", "input": {"prompt": "A red sunset over snowy mountains"}}'

  # chat, with the OpenAI API
  curl -sN $AUSPEX_URL/openai/v1/chat/completions -H "Authorization: Bearer $AUSPEX_TOKEN" \\
    -H 'Content-Type: application/json' -d '{"model": "${username}/chat", "stream": true,
    "messages": [{"role": "user", "content": "Where is the golden key?"}]}'

  ${own}

  # a long prediction: to cancel it, POST to the url in the response, followed by /cancel
  curl -s $AUSPEX_URL/v1/predictions -H "Authorization: Bearer $AUSPEX_TOKEN" \\
    -H 'Content-Type: application/json' \\
    -d '{"model": "${username}/text-generation", "input": {"max_tokens": 2000, "delay_ms": 100}}'

Or save this as try.mjs, and run it with: npm install openai && node try.mjs

  import OpenAI from "openai";
  const openai = new OpenAI({
    baseURL: process.env.AUSPEX_URL + "/openai/v1", apiKey: process.env.AUSPEX_TOKEN,
  });
  const answer = await openai.responses.create({
    model: "${username}/chat", input: "Why is the Hatter mad?",
  });
  console.log(answer.output_text);
  const { data } = await openai.embeddings.create({
    model: "${username}/embeddings", input: ["cat", "kitten"],
  });
  console.log(data.length, "vectors of", data[0].embedding.length, "numbers");

Press Ctrl-C to stop. Your data stays in .auspex/ for the next start, and so does the operator
token, in .auspex/secrets.json.`);
}
