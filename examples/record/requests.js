// A service that remembers every request: node requests.js [REQUESTS]
const requests = Number(process.argv[2] || 2000);
const remembered = [];

function rememberRequest(number) {
	const body = Buffer.alloc(2000, "x");

	body.writeUInt32LE(number);
	remembered.push(body);
}

function answer(number) {
	rememberRequest(number);
	return `reply ${number}`;
}

let bytes = 0;
for (let number = 0; number < requests; number++)
	bytes += answer(number).length;
console.log(`${remembered.length} requests remembered`);
