/** The other end of the floor's long poll, in a process of its own like the runner. */
const [, , url = ""] = process.argv;
const post = (path: string, body = "") => fetch(`${url}${path}`, { method: "POST", body });

async function answer(id: string): Promise<void> {
  await (await post(`/answer/${id}`, "ok")).arrayBuffer();
}

for (;;) {
  const ids: unknown = await (await post("/poll")).json();
  if (!Array.isArray(ids)) throw new Error("not a list of ids");
  for (const id of ids) void answer(String(id));
}
