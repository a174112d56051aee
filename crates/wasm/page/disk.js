// Browsers load no modules from the disk: where the page is opened from there, it says how to open it.
if (location.protocol === "file:") {
  document.getElementById("title").textContent = "A browser does not start this page from the disk: run evenair play";
}
