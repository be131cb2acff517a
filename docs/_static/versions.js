// Replaces the version in the header by a choice of versions, if the folder above the site has a file versions.json:
// the names of folders with other versions of the site, as in ["dev", "1.1", "1.0"]. Local files show the version alone.
document.addEventListener("DOMContentLoaded", async () => {
  const root = document.documentElement.dataset.content_root;
  const places = document.querySelectorAll("p.version"); // in the header, and in the menu of narrow windows
  if (!places.length || !location.protocol.startsWith("http")) return;
  const above = new URL(`${root}../`, location.href);
  const answer = await fetch(new URL("versions.json", above)).catch(() => null);
  if (!answer || !answer.ok) return;
  const current = new URL(root, location.href);
  const folders = await answer.json();
  for (const place of places) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", "Version of the documentation");
    for (const folder of folders) {
      const address = new URL(`${folder}/`, above);
      select.add(new Option(folder, address.href, false, address.href === current.href));
    }
    select.addEventListener("change", async () => {
      const page = location.href.slice(current.href.length);
      const same = await fetch(select.value + page, { method: "HEAD" }).catch(() => null);
      location.href = select.value + (same && same.ok ? page : "");
    });
    place.replaceChildren(select);
  }
});
