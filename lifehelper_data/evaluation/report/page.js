"use strict";
for (const box of document.querySelectorAll("[data-filterable]")) {
  const rows = [...box.querySelectorAll("tbody tr")];
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  label.className = "filter";
  input.type = "search";
  label.append("Show rows with", input, count);
  box.before(label);
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      seen += row.hidden ? 0 : 1;
    }
    count.textContent = `${seen} of ${rows.length} rows`;
  };
  input.addEventListener("input", show);
  show();
}
